// The types of buildFolder.mjs.
export const BUNDLE: string
export function buildFolder(root: string, out: string): string
