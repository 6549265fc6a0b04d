// The keys of an object in the order of its JSON text. JavaScript would put keys that are whole numbers first.

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g

/**
 * The keys of the object under `field`, each once, in the order of the text.
 * @param text JSON that parses to an object with an object under `field`
 */
export function keysInOrder(text: string, field: string): string[] {
  const keys = new Set<string>()
  const open: string[] = []
  let isKeyNext = false
  let isInField = false
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      open.push(token)
      isKeyNext = token === '{'
    } else if (token === '}' || token === ']') {
      open.pop()
      isKeyNext = false
    } else if (token === ',') {
      isKeyNext = open.at(-1) === '{'
    } else if (isKeyNext) {
      isKeyNext = false
      const depth = open.length
      if (depth === 1) {
        isInField = JSON.parse(token) === field
        // If the field is given twice, the last one counts.
        if (isInField) keys.clear()
      } else if (depth === 2 && isInField) keys.add(JSON.parse(token) as string)
    }
  }
  return [...keys]
}
