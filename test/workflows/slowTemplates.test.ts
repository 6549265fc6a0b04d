// Mails of a segment that are rendered in the child process: without the contact's lock, once, and never for ever.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { createRenderer, type Renderer } from '../../mail/content/renderer.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { now } from '../setup/harness.ts'

const LOOP =
  '{% for tag in properties.tags %}{{ tag }}{% endfor %}<a href="{{ unsubscribe_url }}">x</a>'
const FOR_EVER = '{% for i in (1..99999) %}{% for j in (1..99999) %}{% endfor %}{% endfor %}'

const database = await createTestDatabase()
const real = createRenderer({ warn: () => undefined })
let engine: Engine
/** While there is one, renders wait for it. */
let gate: Promise<void> | undefined
let rendered: string[] = []

const renderer: Renderer = {
  ...real,
  async render(workspaceId, parts, scope) {
    rendered.push(parts.subject)
    await gate
    return real.render(workspaceId, parts, scope)
  },
}

beforeAll(async () => {
  // On a busy machine the start of the child takes longer than a test waits for the end of an execution.
  await real.render('warm', { subject: '', html: LOOP, text: null }, {})
  engine = await startEngine(database, { renderer })
})
afterAll(() => engine?.stop())

function holdRenders(): () => void {
  let open: () => void = () => undefined
  rendered = []
  gate = new Promise((resolve) => {
    open = resolve
  })
  return () => {
    gate = undefined
    open()
  }
}

const twoMails = design(
  {
    start: onEvent('x'),
    tags: ['update_contact', { set: { tags: ['a', 'b'] } }],
    first: mail('First', { html: LOOP }),
    second: mail('Second', { html: LOOP }),
    cheap: mail('Cheap {{ contact.email }}'),
  },
  [
    ['start', 'tags'],
    ['tags', 'first'],
    ['first', 'second'],
    ['second', 'cheap'],
  ],
)

const mailsOf = (id: string) =>
  database.db
    .selectFrom('emails')
    .select(['subject', 'html', 'unsubscribe_token'])
    .where('execution_id', '=', id)
    .orderBy('id')
    .execute()

test('the contact is free while the mails of its segment are rendered', async () => {
  const open = holdRenders()
  const { id, email } = await engine.run(twoMails)
  await eventually(() => expect(rendered).toEqual(['First', 'Second']))
  // With NOWAIT a row that somebody holds is an error at once.
  const locked = await database.db
    .transaction()
    .execute((trx) =>
      trx
        .selectFrom('contacts')
        .select('id')
        .where('email', '=', email)
        .forUpdate()
        .noWait()
        .execute(),
    )
  expect(locked).toHaveLength(1)
  expect(await mailsOf(id)).toEqual([])
  open()
  await engine.ended(id, 'COMPLETED')
  const mails = await mailsOf(id)
  expect(mails.map(({ subject }) => subject)).toEqual(['First', 'Second', `Cheap ${email}`])
  for (const { html, unsubscribe_token } of mails.slice(0, 2)) {
    expect(html).toMatch(/^ab<a href="/)
    expect(html).toContain(`/u/${unsubscribe_token}"`)
  }
  expect(new Set(mails.map(({ unsubscribe_token }) => unsubscribe_token)).size).toBe(3)
  expect(rendered).toEqual(['First', 'Second'])
})

test('a cancellation is answered while a mail is rendered, and nothing of the segment happens', async () => {
  const open = holdRenders()
  const { id } = await engine.run(twoMails)
  await eventually(() => expect(rendered).toEqual(['First', 'Second']))
  const begin = performance.now()
  const deps = { db: database.db, now, wake: () => engine.wake() }
  await cancelExecution(deps, engine.workspaceId, { executionId: id, reason: null })
  expect(performance.now() - begin).toBeLessThan(5_000)
  open()
  await engine.ended(id, 'CANCELLED')
  expect(await mailsOf(id)).toEqual([])
})

test('values that change while a mail is rendered: it is rendered again with the new ones', async () => {
  const open = holdRenders()
  const flow = design(
    { start: onEvent('x'), first: mail('First', { html: `{{ properties.plan }}${LOOP}` }) },
    [['start', 'first']],
  )
  const { id, email } = await engine.run(flow)
  await eventually(() => expect(rendered).toEqual(['First']))
  await database.db
    .updateTable('contacts')
    .set({ properties: JSON.stringify({ plan: 'new' }) })
    .where('email', '=', email)
    .execute()
  open()
  await engine.ended(id, 'COMPLETED')
  expect((await mailsOf(id))[0]?.html).toMatch(/^new/)
  expect(rendered).toEqual(['First', 'First'])
})

test('many executions whose mails wait to be rendered keep no place of the worker from others', async () => {
  const open = holdRenders()
  const guarded = design({ start: onEvent('x'), first: mail('First', { html: LOOP }) }, [
    ['start', 'first'],
  ])
  // More than the workflow tasks that a worker takes at once.
  const waiting = await Promise.all(Array.from({ length: 60 }, () => engine.run(guarded)))
  await eventually(() => expect(rendered.length).toBeGreaterThanOrEqual(4))
  const other = await engine.run(design({ start: onEvent('x') }, []))
  await engine.ended(other.id, 'COMPLETED')
  expect(rendered.length).toBeLessThan(10)
  open()
  for (const { id } of waiting) {
    const ended = async () => expect((await engine.row(id)).ended_status).toBe('COMPLETED')
    await eventually(ended, { deadline_ms: 100_000 })
    expect(await engine.subjects(id)).toEqual(['First'])
  }
}, 150_000)

test('a template that is too slow is a failed step that says how long it was given', async () => {
  const slow = design({ start: onEvent('x'), offer: mail('Offer', { html: FOR_EVER }) }, [
    ['start', 'offer'],
  ])
  const { id } = await engine.run(slow)
  const row = await eventually(
    async () => {
      const found = await engine.row(id)
      expect(found.ended_status).toBe('FAILED')
      return found
    },
    { deadline_ms: 150_000 },
  )
  expect(row.error).toBe('offer: template: html: rendering took over 5 s of processor time')
  const wired = design(
    { start: onEvent('x'), offer: mail('Offer', { html: FOR_EVER }), plain: mail('Plain') },
    [
      ['start', 'offer'],
      ['offer', 'plain', 'failed'],
    ],
  )
  const other = await engine.run(wired)
  await engine.ended(other.id, 'COMPLETED')
  expect(await engine.subjects(other.id)).toEqual(['Plain'])
}, 300_000)
