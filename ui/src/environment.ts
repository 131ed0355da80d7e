/** What the people who run this installation call it, such as "production", and the colour that it is marked with. */
export interface Environment {
  name: string;
  colour: string;
}

/** Read what the server wrote into the page; nothing if it has no name. */
export function environmentOf(page: Document): Environment | null {
  const given = page.querySelector<HTMLMetaElement>('meta[name="drumline-environment"]');
  return given?.content ? { name: given.content, colour: given.dataset.colour ?? "grey" } : null;
}

export const environment = environmentOf(document);
