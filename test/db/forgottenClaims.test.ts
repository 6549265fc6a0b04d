// A lane may claim again what it has under way: a crash of Postgres may have taken back the claim, because its commit did not
// wait for the disk, or the attempt has given the mail back and has not ended. Nothing is sent twice, and nothing waits.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { endLeases } from '../setup/queue.ts'
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

test('what a lane claims again before the attempt has ended that gave it back is not kept until its lease ends', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(release)
  smtp.setScript({ back: [{ at: 'rcpt', reply: '250 2.1.5 ok', hold }] })
  const worker = createTestWorker(database, smtp.url, { config: { leaseMs: 24 * 60 * 60_000 } })
  await worker.own({ lane: 0, lanes: 1 })
  await send('back@one.test')
  const { id } = await rowOf('back@one.test')
  let claims = 0
  const count = (passed: unknown) => {
    const { point, delivery_id } = passed as { point: string; delivery_id: number | null }
    if (point === 'claimed' && delivery_id === id) claims += 1
  }
  subscribe('dripline:delivery', count)
  onTestFinished(() => void unsubscribe('dripline:delivery', count))
  worker.wake()
  await eventually(() => expect(smtp.attempts.get('back@one.test')).toBe(1))

  // Its mark is refused. Then the attempt gives it back, and cannot end while nobody can read whose the lane is.
  await endLeases(db, [id])
  await db.transaction().execute(async (holder) => {
    await sql`select from lanes for update`.execute(holder)
    release()
    await eventually(() => {
      worker.wake()
      expect(claims).toBe(2)
    })
  })
  await eventually(async () => expect((await rowOf('back@one.test')).state).toBe('delivered'))
  expect(await rowOf('back@one.test')).toMatchObject({ attempt: 1, resent: 0 })
  expect(smtp.mailsTo('back@one.test')).toHaveLength(1)
})
