import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { live } from "@/api/live";
import { queries } from "@/api/queries";
import { begin, onStandingChange } from "@/api/session";
import { reloadWhenReplaced } from "@/newer";
import { forgetLists } from "@/parts/neighbours";
import { Toasts } from "@/parts/Toasts";
import { showTheme } from "@/preferences";
import { router } from "@/routes";
import "@/styles/tokens.css";
import "@/styles/page.css";

showTheme();
reloadWhenReplaced();
onStandingChange(() => {
  queries.clear();
  forgetLists();
  live.restart();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) live.end();
  else live.start();
});
void begin();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </StrictMode>,
  );
}
