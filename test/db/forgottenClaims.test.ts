// A crash of Postgres may take back a claim, because its commit did not wait for the disk: nothing is sent twice.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { startSmtp } from '../setup/smtp.ts'

const database = await createTestDatabase()
const { db } = database
const { workspaceId, domainId } = await seedWorkspace(db)

const send = (to: string) => acceptMail({ db, workspaceId, domainId }, { text: 'Hello', to: [to] })

const rowOf = (to: string) =>
  db.selectFrom('deliveries').selectAll().where('recipient', '=', to).executeTakeFirstOrThrow()

test('a lane that claims again what it has under way goes on with the attempt that it has begun', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(release)
  smtp.setScript({ held: [{ at: 'rcpt', reply: '250 2.1.5 ok', hold }] })
  const worker = createTestWorker(database, smtp.url)
  await worker.own({ lane: 0, lanes: 1 })
  await send('held@one.test')
  worker.wake()
  await eventually(() => expect(smtp.attempts.get('held@one.test')).toBe(1))

  // As the crash leaves it: the row is as it was before the claim.
  await sql`update deliveries set state = 'queued', attempt = 0, lease_token = null, lease_until = null, fence = null`.execute(
    db,
  )
  worker.wake()
  await eventually(async () => expect((await rowOf('held@one.test')).state).toBe('sending'))
  await send('next@one.test')
  worker.wake()
  await eventually(async () => expect((await rowOf('next@one.test')).state).toBe('delivered'))
  release()
  await eventually(async () => expect((await rowOf('held@one.test')).state).toBe('delivered'))
  expect(smtp.attempts.get('held@one.test')).toBe(1)
  expect(smtp.mailsTo('held@one.test')).toHaveLength(1)
  expect((await rowOf('held@one.test')).attempt).toBe(1)
})
