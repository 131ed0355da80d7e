/** Where this page is served from: the <base> that the server wrote, so that any path prefix works. */
export const UI_PATH = new URL(document.baseURI).pathname.replace(/\/$/, "");

/** What stands before /api/… on this server. */
export const PREFIX = UI_PATH.replace(/\/ui$/, "");
