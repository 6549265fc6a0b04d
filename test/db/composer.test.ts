// Composing from real rows: in one round trip, with long bodies, and with tracked links that are stored before
// sending.
// Long because every case is composed by the same composer over the same rows.

import { tmpdir } from 'node:os'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { NewEmail } from '../../db/emails/insert.ts'
import { type ComposedEmail, createComposer } from '../../delivery/compose/composer.ts'
import { newOpaqueToken, readTrackingToken } from '../../mail/tracking/tokens.ts'
import { NotAlone } from '../../runtime/gate.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { acceptMail, type Columns } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { now, seedWorkspace } from '../setup/harness.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'
import { bytesOf } from '../setup/storedBytes.ts'
import { unwatched } from '../setup/unwatched.ts'
import { leaves, readMessage } from '../unit/mail/reader.ts'

const { db } = await createTestDatabase()
const { workspaceId, domainId } = await seedWorkspace(db)
const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
const config = { publicUrl: 'https://mail.test', stateFolder: tmpdir() }

/** Like the composer's function, with the bytes of each email. */
function createUse(blame = unwatched) {
  const use = createComposer({
    db,
    wake: () => {},
    now,
    config,
    secrets,
    blame,
  } as unknown as Parameters<typeof createComposer>[0])
  return <T>(
    id: string,
    work: (email: Omit<ComposedEmail, 'message'> & { bytes: Buffer }) => Promise<T>,
    deliveryId: number | null = null,
    to_team = false,
  ) =>
    use(
      id,
      async ({ message, ...email }) => work({ ...email, bytes: await bytesOf(message) }),
      deliveryId === null ? null : { id: deliveryId, to_team },
    )
}

const accept = (change: Columns, attachments: NewEmail['attachments'] = []) =>
  acceptMail({ db, workspaceId, domainId }, change, attachments)

const bodiesOf = (bytes: Buffer) =>
  Object.fromEntries(
    leaves(readMessage(bytes)).map((part) => [
      part.header('content-type')?.split(';')[0],
      part.content.toString().trimEnd(),
    ]),
  )

test('deliveries that are under way together share the bytes; later ones get the same bytes', async () => {
  const use = createUse()
  const id = await accept({ html: '<p>Hi</p>' })
  const [one, two] = await Promise.all([
    use(id, async (e) => e.bytes),
    use(id, async (e) => e.bytes),
  ])
  expect(two).toBe(one)
  expect(await createUse()(id, async (e) => e.bytes)).toEqual(one)
  expect(bodiesOf(one)).toEqual({ 'text/plain': 'Hi', 'text/html': '<p>Hi</p>' })
  await expect(use('em_none', async () => 0)).rejects.toThrow('is gone')
})

test('what fails to be composed is composed anew by the next delivery under way, which asks again whether it is a suspect', async () => {
  const html = '<a href="https://shop.test/">Shop</a>'
  const id = await accept({ html, track_clicks: true, tracking_host: 'click.sender.test' })
  const suspect = {
    kind: 'email',
    id,
    workspace_id: workspaceId,
    step: 'compose',
    deaths: 1,
  } as const
  await db
    .insertInto('suspects')
    .values({ ...suspect, noted_at: now() })
    .execute()
  const alone: boolean[] = []
  const use = createUse({
    ...unwatched,
    during(mark, work) {
      alone.push(mark.alone)
      if (alone.length === 1) throw new NotAlone('no time is left')
      return work(() => undefined)
    },
  })
  const first = use(id, async () => 0, 1)
  const later = use(
    id,
    async () => {
      expect(new Set(alone)).toEqual(new Set([true]))
      alone.length = 1
      await use(id, async () => 0, 3)
      return alone.slice(1)
    },
    2,
  )
  await expect(first).rejects.toThrow('no time is left')
  const third = await later
  expect(third.length).toBeGreaterThan(0)
  expect(new Set(third)).toEqual(new Set([false]))
})

test('a long body and an attachment are read completely', async () => {
  const html = `<p>${'Grüße an alle 😀 \n'.repeat(300_000)}</p>`
  const id = await accept({ html, text: 'short' })
  const bytes = await createUse()(id, async (e) => e.bytes)
  expect(bodiesOf(bytes)['text/html']).toBe(html.replaceAll('\n', '\r\n'))
  const file = {
    filename: 'a.bin',
    content_type: null,
    content_id: null,
    content: Buffer.from('abc'),
  }
  const other = await accept({ text: 'see' }, [file])
  expect(bodiesOf(await createUse()(other, async (e) => e.bytes))).toEqual({
    'text/plain': 'see',
    'application/octet-stream': 'abc',
  })
})

test('tracked email: links and pixel for each delivery, stored first; unsubscribe links and the text are not changed', async () => {
  const own = 'https://mail.test/u/token'
  const html = `<p><a href="https://shop.test/?a=1&amp;b=2">Shop</a> <a href="${own}">Leave</a></p>`
  const id = await accept({
    html,
    track_opens: true,
    track_clicks: true,
    tracking_host: 'click.sender.test',
    category: 'marketing',
    unsubscribe_token: 'AAAAAAAAAAAAAAAAAAAAAA',
  })
  const use = createUse()
  const read = async (deliveryId: number) => {
    const { bytes, stored } = await use(
      id,
      async (email) => ({
        bytes: email.bytes,
        stored: await sql<{
          urls: string[]
        }>`select urls from email_links where email_id = ${id}`.execute(db),
      }),
      deliveryId,
    )
    expect(stored.rows).toEqual([{ urls: ['https://shop.test/?a=1&b=2'] }])
    return bytes
  }
  const [one, two] = [await read(1), await read(2)]
  expect(await read(1)).toEqual(one)
  const bodies = bodiesOf(one)
  expect(bodies['text/plain']).toContain('https://shop.test/?a=1&b=2')
  expect(bodies['text/html']).toContain(`href="${own}"`)
  const tokens = (bytes: Buffer) =>
    [
      ...(bodiesOf(bytes)['text/html'] ?? '').matchAll(
        /https:\/\/click\.sender\.test\/t\/[oc]\/([\w-]+)/g,
      ),
    ].map(([, token]) => readTrackingToken(secrets.macCheck('tracking'), token ?? ''))
  const expected = (deliveryId: number) => [
    { kind: 'click', deliveryId, index: 0 },
    { kind: 'open', deliveryId },
  ]
  expect(tokens(one)).toEqual(expected(1))
  expect(tokens(two)).toEqual(expected(2))
  expect(readMessage(one).header('list-unsubscribe')).toMatch(
    /^<https:\/\/mail\.test\/u\/A{22}>, <mailto:\S+@bounces\.sender\.test>$/,
  )
  expect(bodiesOf(await use(id, async (e) => e.bytes))['text/html']).toBe(html)
})

describe('a copy for the team', () => {
  const TOKEN = 'BBBBBBBBBBBBBBBBBBBBBB'
  const html = `<p><a href="https://shop.test/">Shop</a> <a href="https://mail.test/u/${TOKEN}">Leave</a></p>`
  const marketing = { html, category: 'marketing', unsubscribe_token: TOKEN } as const
  const tracks = { track_opens: true, track_clicks: true }
  test.each<[string, Columns]>([
    ['untracked', marketing],
    ['tracked', { ...marketing, ...tracks }],
    ['with a text of its own', { ...marketing, text: `Leave: https://mail.test/u/${TOKEN}` }],
    ['of a receipt', { ...marketing, category: 'transactional' }],
    ['so large that it is kept', { ...marketing, html: html + 'x'.repeat(1_100_000) }],
    ['large and tracked', { ...marketing, ...tracks, html: html + 'x'.repeat(1_100_000) }],
  ])(
    '%s carries nothing that unsubscribes the contact, whose mail stays as it is',
    async (_, change) => {
      const token = newOpaqueToken()
      const own = JSON.parse(JSON.stringify(change).replaceAll(TOKEN, token)) as Columns
      const id = await accept(own)
      const use = createUse()
      const [copy, contacts] = await Promise.all([
        use(id, async ({ bytes }) => bytes, 2, true),
        use(id, async ({ bytes }) => bytes, 1),
      ])
      const said = (bytes: Buffer) => Object.values(bodiesOf(bytes)).join('\n')
      expect(copy.toString()).not.toContain(token)
      expect(said(copy)).not.toContain(token)
      expect(said(copy)).toContain('https://mail.test/u/copy')
      expect(readMessage(copy).header('list-unsubscribe')).toBeNull()
      expect(readMessage(copy).header('list-unsubscribe-post')).toBeNull()
      expect(said(contacts)).toContain(`https://mail.test/u/${token}`)
      const isMarketing = change['category'] === 'marketing'
      expect(readMessage(contacts).header('list-unsubscribe') !== null).toBe(isMarketing)
      // In the other order, and again: each has its own bytes. `toEqual` would take half a minute for each MiB of them.
      const again = await use(id, async ({ bytes }) => bytes, 1)
      expect(again.equals(contacts)).toBe(true)
      const copyAgain = await use(id, async ({ bytes }) => bytes, 2, true)
      expect(copyAgain.equals(copy)).toBe(true)
    },
  )
})

test('a link that carries the token of the contact leads nobody to it by a copy, tracked or not', async () => {
  const use = createUse()
  const token = 'a-token-that-is-long-enough'
  const id = await accept({
    html: `<a href="https://acme.test/prefs?u=https%3A%2F%2Fmail.test%2Fu%2F${token}">x</a> <a href="https://acme.test/other">y</a>`,
    category: 'marketing',
    unsubscribe_token: token,
    track_clicks: true,
  })
  const copy = await use(id, async ({ bytes }) => bytes, 2, true)
  expect(Object.values(bodiesOf(copy)).join('\n')).not.toContain(token)
  const { urls } = await db
    .selectFrom('email_links')
    .select('urls')
    .where('email_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(urls).toEqual(['https://acme.test/other'])
})

test('the body of a large mail is compressed with lz4 where Postgres has it', async () => {
  const known = await sql<{ methods: string[] }>`
    select enumvals as methods from pg_settings where name = 'default_toast_compression'`.execute(
    db,
  )
  const id = await accept({ html: '<p>a line</p>'.repeat(10_000) })
  const { rows } = await sql`
    select pg_column_compression(html) as method from emails where id = ${id}`.execute(db)
  expect(rows).toEqual([{ method: known.rows[0]?.methods.includes('lz4') ? 'lz4' : 'pglz' }])
})

test('Feedback-ID and what automatic mail says, by who sent it; the same for all mail of one source', async () => {
  const use = createUse()
  const names = ['feedback-id', 'auto-submitted', 'x-auto-response-suppress', 'precedence']
  const told = async (change: Parameters<typeof accept>[0]) => {
    const bytes = await use(await accept({ text: 'Hi', ...change }), async (e) => e.bytes)
    return names.map((name) => readMessage(bytes).header(name))
  }
  const node = { workflow_id: 'wf_1', execution_id: 'exe_1', node_id: 'offer' }
  const api = [`transactional:api:${workspaceId}:dripline`, null, null, null]
  expect([await told({}), await told({})]).toEqual([api, api])
  const automatic = ['auto-generated', 'OOF, AutoReply']
  expect(await told({ ...node, category: 'marketing' })).toEqual([
    `automation:wf_1:${workspaceId}:dripline`,
    ...automatic,
    'bulk',
  ])
  expect(await told(node)).toEqual([
    `transactional:wf_1:${workspaceId}:dripline`,
    ...automatic,
    null,
  ])
  expect(await told({ type: 'broadcast', category: 'marketing' })).toEqual([
    `broadcast:broadcast:${workspaceId}:dripline`,
    ...automatic,
    'bulk',
  ])
  expect(await told({ headers: { 'Auto-Submitted': 'auto-replied' } })).toEqual([
    api[0],
    'auto-replied',
    null,
    null,
  ])
})
