// Mail of all three classes that keeps coming while workers are killed, and people who leave in the middle of it.
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { acceptMail } from './acceptedMail.ts'
import type { TestDatabase } from './database.ts'
import { design, insertFlow, mail, onEvent } from './flows.ts'
import type { createClient, seedWorkspace } from './harness.ts'
import type { createRandom } from './random.ts'

/** New mail comes while no more than this waits. */
const WAITING_MAX = 80
const PAUSE_MS = 100
const DOMAINS = 12
const RECIPIENTS = 3

const receipts = design(
  { start: onEvent('ordered'), receipt: mail('Receipt', { category: 'transactional' }) },
  [['start', 'receipt']],
)
const news = design({ start: onEvent('joined'), news: mail('News') }, [['start', 'news']])

/** Who left or was suppressed while no worker ran: nothing may be sent to them after that. */
export interface Gone {
  recipient: string
  how: 'left' | 'suppressed'
}

interface KillLoadOptions extends Awaited<ReturnType<typeof seedWorkspace>> {
  db: TestDatabase['db']
  request: ReturnType<typeof createClient>
  apiUrl: () => string
  random: ReturnType<typeof createRandom>
}

/** Starts the load, which runs until `stop`. */
export async function startKillLoad(options: KillLoadOptions) {
  const { db, request, apiUrl, random } = options
  await insertFlow(db, options, receipts)
  await insertFlow(db, options, news)
  /** Recipients by the id of each email that was accepted. */
  const emails = new Map<string, string[]>()
  /** Contacts whose event was accepted, each of which leads to one mail. */
  const contacts: string[] = []
  let round = 0
  let stopping = false

  const addresses = (kind: string, count: number) =>
    Array.from(
      { length: count },
      (_, i) => `${kind}${round}-${i}@d${random.between(1, DOMAINS)}.test`,
    )

  async function feed(): Promise<void> {
    round += 1
    const to = addresses('t', RECIPIENTS)
    const body = {
      from: 'Team <hello@sender.test>',
      to,
      subject: `Mail ${round}`,
      text: `Mail ${round}`,
    }
    const answer = await request<{ id: string }>('POST', '/v1/emails', body)
    expect(answer.status).toBe(200)
    emails.set(answer.body.id, to)
    for (const [event_name, kind] of [
      ['ordered', 'r'],
      ['joined', 'n'],
      ['joined', 'm'],
    ] as const) {
      const [email = ''] = addresses(kind, 1)
      const event = { event_name, email, event_id: email }
      expect((await request('POST', '/v1/automation/events', event)).status).toBe(202)
      contacts.push(email)
    }
    const readers = addresses('b', RECIPIENTS)
    const campaign = {
      type: 'broadcast',
      category: 'marketing',
      from: 'Team <hello@sender.test>',
      to: readers,
      subject: `Campaign ${round}`,
      html: `<p>Campaign ${round}</p>`,
    }
    emails.set(await acceptMail(options, campaign), readers)
  }

  async function run(): Promise<void> {
    while (!stopping) {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from deliveries where settled_at is null`.execute(db)
      if ((rows[0]?.count ?? 0) < WAITING_MAX) await feed()
      await pause(PAUSE_MS)
    }
  }
  const running = run()
  // Whoever waits for it hears of a failure; until then it must not end the process.
  running.catch(() => undefined)

  /** Mail that waits or was under way when the worker died, by class, at random. */
  const open = async (places: number[]) => {
    const { rows } = await sql<{ recipient: string; token: string | null }>`
      select d.recipient, m.unsubscribe_token as token from deliveries d join emails m on m.id = d.email_id
      where d.settled_at is null and d.class = any(${places}::smallint[]) order by d.id`.execute(db)
    const [first, ...rest] = rows
    return first ? random.pick([first, ...rest]) : undefined
  }

  return {
    emails,
    contacts,
    running,
    /** One of those whose marketing mail is open unsubscribes by one click, and one of any class is suppressed by hand. */
    async leave(): Promise<Gone[]> {
      const gone: Gone[] = []
      const leaver = await open([1])
      if (leaver?.token) {
        const { status } = await fetch(`${apiUrl()}/u/${leaver.token}`, { method: 'POST' })
        expect(status).toBe(200)
        gone.push({ recipient: leaver.recipient, how: 'left' })
      }
      const suppressed = await open([0, 1, 2])
      if (suppressed) {
        const { recipient: email } = suppressed
        expect((await request('POST', '/v1/suppressions', { email })).status).toBeLessThan(300)
        gone.push({ recipient: email, how: 'suppressed' })
      }
      return gone
    },
    async stop(): Promise<void> {
      stopping = true
      await running
    },
  }
}
