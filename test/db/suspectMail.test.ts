// Mail that is suspected of ending workers: it has its turn alone, and is given up after three deaths alone.
import { tmpdir } from 'node:os'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { suspectDeliveryId } from '../../db/suspects/writes.ts'
import { createComposer } from '../../delivery/compose/composer.ts'
import { createMessageStore } from '../../delivery/compose/messageStore.ts'
import type { Blame } from '../../delivery/deps.ts'
import type { SuspectKind } from '../../rules/wire.ts'
import { NotAlone } from '../../runtime/gate.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { now, seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'
import { startSmtp } from '../setup/smtp.ts'
import { unwatched } from '../setup/unwatched.ts'

const database = await createTestDatabase()
const { db } = database
const { workspaceId, domainId } = await seedWorkspace(db)

const accept = (...to: string[]) =>
  acceptMail({ db, workspaceId, domainId }, { to, html: '<p>Hello</p>' })
const suspect = (kind: SuspectKind, id: string, deaths: number) =>
  db
    .insertInto('suspects')
    .values({ kind, id, workspace_id: workspaceId, step: 'compose', deaths, noted_at: now() })
    .execute()
const deliveryOf = (email: string) =>
  db
    .selectFrom('deliveries')
    .selectAll()
    .where('email_id', '=', email)
    .orderBy('recipient')
    .execute()

/** Notes each mark and each suspect that was given up. */
function createNotes() {
  const marks: { kind: string; id: string; alone: boolean }[] = []
  const gaveUp: string[] = []
  let depth = 0
  const blame: Blame = {
    during({ kind, id, alone }, work) {
      // The watchdog knows one mark at a time.
      expect(depth).toBe(0)
      depth += 1
      marks.push({ kind, id, alone })
      try {
        return work(() => undefined)
      } finally {
        depth -= 1
      }
    },
    gaveUp: (kind, id) => void gaveUp.push(`${kind} ${id}`),
  }
  const of = (id: string) => marks.filter((mark) => mark.id === id)
  return { blame, gaveUp, of }
}

test('a suspect is composed and its reply read alone; what ended three workers alone is given up, nothing else', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  smtp.setScript((rcpt) =>
    rcpt.startsWith('refused') ? { at: 'rcpt', reply: '554 5.6.0 no' } : undefined,
  )
  const ordinary = await Promise.all(Array.from({ length: 20 }, (_, n) => accept(`o${n}@a.test`)))
  const twice = await accept('twice@a.test')
  await suspect('email', twice, 2)
  const bad = await accept('bad1@a.test', 'bad2@b.test')
  await suspect('email', bad, 3)
  const badReply = await accept('refused1@a.test', 'refused2@a.test')
  const [first, second] = await deliveryOf(badReply)
  if (!first || !second) throw new Error('there are two deliveries')
  const [firstId, secondId] = [first, second].map(({ id }) => suspectDeliveryId(badReply, id))
  await suspect('delivery', firstId ?? '', 3)
  await suspect('delivery', secondId ?? '', 2)

  const { blame, gaveUp, of } = createNotes()
  const worker = createTestWorker(database, smtp.url, { blame })
  await worker.own({ lane: 0, lanes: 1 })
  await eventually(async () => {
    const open = await db
      .selectFrom('deliveries')
      .select('id')
      .where('settled_at', 'is', null)
      .execute()
    expect(open).toEqual([])
  })

  const states = async (email: string) => (await deliveryOf(email)).map(({ state }) => state)
  for (const email of [...ordinary, twice]) expect(await states(email)).toEqual(['delivered'])
  expect(of(twice).length).toBeGreaterThan(0)
  expect(of(twice).filter(({ alone }) => !alone)).toEqual([])
  for (const email of ordinary) {
    expect(of(email).length).toBeGreaterThan(0)
    expect(of(email).filter(({ alone }) => alone)).toEqual([])
  }

  // Given up: never composed, a bounce that suppresses nobody and that no server is named for.
  expect(of(bad)).toEqual([])
  const why = 'given up: the worker ended 3 times while it composed this mail alone'
  for (const { state, last_response, attempt } of await deliveryOf(bad)) {
    expect([state, last_response, attempt]).toEqual(['bounced', why, 0])
  }
  const events = await db
    .selectFrom('email_events')
    .select('data')
    .where('email_id', '=', bad)
    .where('status', '=', 'bounced')
    .execute()
  expect(events.map(({ data }) => data)).toEqual(
    Array(2).fill({ type: 'Undetermined', subtype: 'Undetermined' }),
  )
  expect(await db.selectFrom('suppressions').selectAll().execute()).toEqual([])
  const attempts = await db.selectFrom('delivery_attempts').select('delivery_id').execute()
  expect(attempts).toHaveLength(ordinary.length + 2)

  // Of the replies one is given up before its mail is sent, the other is read alone.
  expect((await deliveryOf(badReply)).map(({ last_response }) => last_response)).toEqual([
    'given up: the worker ended 3 times while it read the reply to this mail alone',
    '554 5.6.0 no',
  ])
  expect(smtp.attempts.get('refused1@a.test')).toBeUndefined()
  expect(of(secondId ?? '')).toEqual([{ kind: 'delivery', id: secondId, alone: true }])
  expect(gaveUp.sort()).toEqual([`delivery ${firstId}`, `email ${bad}`, `email ${bad}`].sort())
  // What ended well alone is a suspect no more.
  const left = await db.selectFrom('suspects').select('id').orderBy('id').execute()
  expect(left.map(({ id }) => id)).toEqual([bad, firstId].sort())
})

test('a refusal that finds no moment to be read alone counts as an attempt, and is tried again by the schedule', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  smtp.setScript(() => ({ at: 'rcpt', reply: '554 5.6.0 no' }))
  const email = await accept('later@a.test')
  const [sent] = await deliveryOf(email)
  const name = suspectDeliveryId(email, sent?.id ?? 0)
  await suspect('delivery', name, 1)
  const worker = createTestWorker(database, smtp.url, {
    blame: {
      ...unwatched,
      during(mark, work) {
        if (mark.kind === 'delivery') throw new NotAlone('no moment')
        return work(() => undefined)
      },
    },
  })
  const began = now().getTime()
  await worker.own({ lane: 0, lanes: 1 })
  await eventually(async () => {
    const [row] = await deliveryOf(email)
    expect([row?.state, row?.attempt]).toEqual(['deferred', 1])
    expect((row?.next_at.getTime() ?? 0) - began).toBeGreaterThan(30_000)
  })
  expect(smtp.attempts.get('later@a.test')).toBe(1)
  const attempts = await db
    .selectFrom('delivery_attempts')
    .select(['outcome', 'phase'])
    .where('delivery_id', '=', sent?.id ?? 0)
    .execute()
  expect(attempts).toEqual([{ outcome: 'failed', phase: 'rcpt' }])
  const suspects = await db.selectFrom('suspects').select('id').where('id', '=', name).execute()
  expect(suspects).toHaveLength(1)
})

test.each([
  ['memory', 64 * 1024 * 1024],
  ['a file', 0],
])(
  'a large suspect that Postgres does not forget leaves nothing in %s',
  async (_name, memoryMax) => {
    const html = 'x'.repeat(1_100_000)
    const id = await acceptMail({ db, workspaceId, domainId }, { html })
    await suspect('email', id, 1)
    await sql`
    create function stay() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
    create trigger stay before delete on suspects for each row execute function stay()`.execute(db)
    const letGo = () => sql`drop function if exists stay cascade`.execute(db)
    onTestFinished(async () => void (await letGo()))
    const store = createMessageStore(tmpdir(), { memoryMax, filesMax: 64 * 1024 * 1024 })
    const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
    const config = { publicUrl: 'https://mail.test', stateFolder: tmpdir() }
    const deps = { db, wake: () => undefined, now, config, secrets, blame: unwatched }
    const use = createComposer(deps as unknown as Parameters<typeof createComposer>[0], store)
    await expect(use(id, async () => store.used())).rejects.toThrow('not now')
    expect(store.used()).toEqual({ memory: 0, files: 0 })
    await letGo()
    const used = await use(id, async () => store.used())
    expect(used.memory + used.files).toBeGreaterThan(html.length)
    expect(store.used()).toEqual({ memory: 0, files: 0 })
  },
)
