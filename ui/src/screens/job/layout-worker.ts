/** Lays graphs out beside the page, which answers meanwhile. */
import { layout, type Shape } from "./layout";

export interface Asked {
  number: number;
  shape: Shape;
}

self.addEventListener("message", ({ data }: MessageEvent<Asked>) => {
  self.postMessage({ number: data.number, placed: layout(data.shape) });
});
