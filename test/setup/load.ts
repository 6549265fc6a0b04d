// Clients that send mail and post events while processes are killed, and remember every answer.
import { setTimeout as pause } from 'node:timers/promises'
import type { createClient } from './harness.ts'

export interface Answered {
  /** Recipients by email id, of each mail that was answered 200. */
  emails: Map<string, string[]>
  /** Execution ids by event_id, of each event that was answered 202. */
  events: Map<string, string[]>
  /** Requests that were answered 503 or not at all. */
  unanswered: number
  /** Every other answer: there must be none. */
  faults: string[]
}

export interface LoadOptions {
  request: ReturnType<typeof createClient>
  /** Names of events that are posted for one contact, one after the other; empty: only mail is sent. */
  events?: string[]
  /** The most contacts. */
  contactsMax?: number
}

const MAIL_PAUSE_MS = 40
const EVENT_PAUSE_MS = 60
const RETRY_PAUSE_MS = 50

/** Starts two clients, one for mail and one for events, which run until `stop`. */
export function startLoad({ request, events = [], contactsMax = 150 }: LoadOptions) {
  const answered: Answered = { emails: new Map(), events: new Map(), unanswered: 0, faults: [] }
  let stopping = false

  /** The answer's body if it has the wanted status; undefined if there was no answer or another one. */
  async function ask<T>(path: string, wanted: number, body: object): Promise<T | undefined> {
    try {
      const answer = await request<T>('POST', path, body)
      if (answer.status === wanted) return answer.body
      if (answer.status === 503 && answer.headers.has('retry-after')) answered.unanswered += 1
      else answered.faults.push(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    } catch {
      answered.unanswered += 1
    }
    return undefined
  }

  async function sendMail() {
    for (let n = 1; !stopping; n++) {
      const to = Array.from({ length: 1 + (n % 3) }, (_, i) => `m${n}-${i}@d${(n + i) % 40}.test`)
      const mail = { from: 'Team <hello@sender.test>', to, subject: `Mail ${n}`, text: `Mail ${n}` }
      const body = await ask<{ id: string }>('/v1/emails', 200, mail)
      if (body) answered.emails.set(body.id, to)
      await pause(MAIL_PAUSE_MS)
    }
  }

  /** An event whose answer was lost is posted again with the same event_id. */
  async function postEvents() {
    for (let n = 1; !stopping && n <= contactsMax; n++) {
      for (const [i, event_name] of events.entries()) {
        const event_id = `contact-${n}-${i}`
        const event = { event_name, event_id, email: `c${n}@d${n % 40}.test`, properties: { n } }
        for (;;) {
          const body = await ask<{ executions: string[] }>('/v1/automation/events', 202, event)
          if (body) answered.events.set(event_id, body.executions)
          if (body || answered.faults.length > 0) break
          await pause(RETRY_PAUSE_MS)
        }
      }
      await pause(EVENT_PAUSE_MS)
    }
  }

  const running = Promise.all([sendMail(), events.length > 0 ? postEvents() : undefined])
  return {
    answered,
    /** Requests that were answered so far. */
    progress: () => answered.emails.size + answered.events.size,
    /** Starts no new contact. Resolves when each contact has all its events. */
    async stop(): Promise<Answered> {
      stopping = true
      await running
      return answered
    },
  }
}
