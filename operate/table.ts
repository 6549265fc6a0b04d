// Pads the cells of a table for a terminal.

/** Lines of columns of the same width, two spaces apart. @param rows the header and the rows, a text for each of its columns */
export function tableLines(header: readonly string[], rows: readonly string[][]): string[] {
  const all = [header, ...rows]
  const widths = header.map((_, i) => Math.max(...all.map((row) => (row[i] ?? '').length)))
  return all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
