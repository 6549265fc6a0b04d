// The selectors of DKIM keys.

/** Two workspaces may register one name: their keys must not meet in DNS. @param id of the domain or of the key */
export function selectorOf(id: string): string {
  return `drip-${id.slice(-10).toLowerCase()}`
}
