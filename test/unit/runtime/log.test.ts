// What the log says of an error: nothing that names values of rows.
import { expect, test } from 'vitest'
import { createLog } from '../../../runtime/log.ts'

test('an error of Postgres is told without the values of its row', () => {
  const lines: string[] = []
  const log = createLog('test', 'warn', { write: (line) => void lines.push(line) })
  const err = Object.assign(
    new Error('duplicate key value violates unique constraint "contacts_email"'),
    {
      code: '23505',
      detail: 'Key (workspace_id, email)=(ws_1, jo@b.test) already exists.',
      where: 'SQL statement "insert … jo@b.test"',
      internalQuery: "select 'jo@b.test'",
    },
  )
  log.warn({ err }, 'a segment failed')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('contacts_email')
  expect(lines[0]).toContain('23505')
  expect(lines[0]).not.toContain('jo@b.test')
})
