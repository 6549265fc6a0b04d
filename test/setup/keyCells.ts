// The cells of the table of operations and keys, read from the page of the docs where it stands.
import { readPage } from '../../dev/docs/pages.ts'
import { type KeyPermission, permissions } from '../../rules/permissions.ts'

/** One row of the table. */
export interface KeyRow {
  /** `GET /v1/emails/:id`, as routes are named in tests. */
  name: string
  /** The permissions with a mark. */
  allowed: ReadonlySet<KeyPermission>
  /** What a key for one domain meets, in the words of the table. */
  bound: string
}

const TABLE = /<!-- table: key-operations -->\n([\s\S]*?)\n<!-- \/table -->/

/**
 * The rows of the table, in its order.
 * @throws Error for a table of another form
 */
export function readKeyRows(): KeyRow[] {
  const lines = TABLE.exec(readPage('docs/sending.md'))?.[1]?.split('\n') ?? []
  const [head, , ...rows] = lines.map(cellsOf)
  const expected = ['operation', ...permissions, 'for one domain']
  if (head?.join() !== expected.join()) throw new Error(`the table's head is ${head?.join()}`)
  return rows.map(([operation = '', ...cells]) => {
    const wrong = cells.slice(0, -1).find((cell) => cell !== 'yes' && cell !== '')
    if (wrong !== undefined) throw new Error(`${operation}: neither "yes" nor empty: ${wrong}`)
    return {
      name: operation.replace(/\{(\w+)\}/g, ':$1'),
      allowed: new Set(permissions.filter((_, at) => cells[at] === 'yes')),
      bound: cells[permissions.length] ?? '',
    }
  })
}

const cellsOf = (line: string) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('`', ''))
