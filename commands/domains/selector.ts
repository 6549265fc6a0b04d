// The selectors of DKIM keys.

/**
 * The selector for an id. Two workspaces may register the same name, so their selectors must differ. @param id of
 * the domain or of the key
 */
export function selectorOf(id: string): string {
  return `drip-${id.slice(-10).toLowerCase()}`
}
