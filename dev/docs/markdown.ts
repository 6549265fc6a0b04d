// Writes Markdown from data: tables, code, and lists of words.

/** A table of Markdown. A cell's line breaks become spaces, and its pipes are escaped. */
export function markdownTable(head: string[], rows: string[][]): string {
  const wrong = rows.find((row) => row.length !== head.length)
  if (wrong) throw new Error(`a row of ${wrong.length} cells under ${head.length}: ${wrong[0]}`)
  return [head, head.map(() => '---'), ...rows].map(line).join('\n')
}

function line(cells: string[]): string {
  return `|${cells.map((cell) => (cell === '' ? ' ' : ` ${escaped(cell)} `)).join('|')}|`
}

function escaped(cell: string): string {
  return cell.replace(/\s*\n\s*/g, ' ').replace(/(?<!\\)\|/g, '\\|')
}

/** A text as code. */
export function code(text: string): string {
  return `\`${text}\``
}

/** Texts as code, with commas between. */
export function codes(texts: readonly string[]): string {
  return texts.map(code).join(', ')
}
