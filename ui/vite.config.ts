import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Relative addresses: the server puts a <base> into the page, so that the UI works under any path.
export default defineConfig({
  base: "./",
  plugins: [react()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    outDir: "../src/drumline/_ui",
    emptyOutDir: true,
    assetsInlineLimit: 0, // a strict content policy allows no data: scripts or styles
    modulePreload: { polyfill: false },
    target: "es2022",
    sourcemap: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/actuator": "http://127.0.0.1:8080" } },
});
