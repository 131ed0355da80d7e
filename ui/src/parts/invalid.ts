import { createContext } from "react";

/** What the browser itself finds wrong with the inputs of a form, by their ids. */
export const Invalid = createContext<Readonly<Record<string, string>>>({});
