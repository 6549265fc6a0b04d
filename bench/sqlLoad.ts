// A process that sends the SQL statements of a request directly through pg, without the API.

import { sendEmail } from '../api/emails/send.ts'
import { NewAutomationEvent } from '../api/events/schemas.ts'
import type { RequestKey } from '../commands/api-keys/keyCache.ts'
import { createEmailGroups } from '../commands/emails/groups.ts'
import { createEventGroups } from '../commands/events/groups.ts'
import { postAutomationEvent } from '../commands/events/post.ts'
import { createDailyLimit } from '../commands/limits/daily.ts'
import { connect } from '../db/connect.ts'
import { createWake } from '../db/wake.ts'
import { createRenderer } from '../mail/content/renderer.ts'
import type { IdKind, NewId } from '../rules/ids.ts'
import type { WakeChannel } from '../rules/wire.ts'
import { parseConfig } from '../runtime/config.ts'
import { createNewId } from '../runtime/ids.ts'
import { captureSessions } from './capture.ts'
import type { LoadKind } from './httpLoad.ts'
import { type LoadBounds, type LoadResult, runLoad } from './load.ts'
import { emailBody, eventBody } from './payloads.ts'
import { serve } from './remote.ts'
import { createReplay, type Renewal } from './replay.ts'
import { SECRET_KEY } from './servers.ts'
import { addressMacOf } from './workspace.ts'

/** Number of the request that is captured. */
const CAPTURED_SERIAL = 0
/** An event that comes before it reads the triggers, which a process does once. */
const FIRST_SERIAL = 1

/** The parsers and pool settings of the API. */
const connectLikeApi = (url: string, poolSize: number) =>
  connect({ url, poolSize, name: 'bench-pg', onIdleError: () => undefined })

let replay: ((serial: number) => Promise<void>) | undefined

/** What the API's commands need, over a pool of its own. What they make with it and whom they wake is kept. */
async function openDeps({ databaseUrl, poolSize }: { databaseUrl: string; poolSize: number }) {
  const config = parseConfig({
    DATABASE_URL: databaseUrl,
    SECRET_KEY,
    SMTP_URL: 'smtp://127.0.0.1:1',
  })
  const { db, pool } = connectLikeApi(databaseUrl, poolSize)
  const now = new Date()
  const makeId = createNewId(() => new Date())
  const made: Renewal['made'] = []
  const keepMade = (kindOfId: IdKind) => {
    const value = makeId(kindOfId)
    made.push({ value, make: () => makeId(kindOfId) })
    return value
  }
  const newId = keepMade as NewId
  const woken: WakeChannel[] = []
  const addressMac = await addressMacOf(db)
  const deps = {
    db,
    addressMac,
    newId,
    now: () => now,
    wake: (channel: WakeChannel) => void woken.push(channel),
    config,
    renderer: createRenderer({ warn: () => undefined }),
  }
  return { deps, pool, made, woken }
}

/** Nothing is limited, as by default. */
const noLimits = { of: () => undefined, fresh: async () => undefined, forget: () => undefined }

const handlers = {
  /**
   * Runs the API's command for one request over a recording pool. Later calls of `run` replay its statements over
   * a pool of `poolSize`, and its NOTIFY, which like in the API is sent separately and one at a time.
   * @returns the statements, in order, and how many requests it ran
   */
  async prepare(input: {
    kind: LoadKind
    databaseUrl: string
    key: RequestKey
    poolSize: number
  }): Promise<{ statements: string[]; requests: number }> {
    const { kind, key } = input
    const { deps, pool, made, woken } = await openDeps(input)
    const now = deps.now()
    const eventGroups = createEventGroups(deps)
    const postEvent = (event: ReturnType<typeof eventBody>) =>
      postAutomationEvent(
        { ...deps, eventGroups },
        key.workspace_id,
        NewAutomationEvent.parse(event),
      )
    if (kind === 'events') await postEvent(eventBody(FIRST_SERIAL))
    made.length = 0
    woken.length = 0
    const capture = captureSessions(pool)
    if (kind === 'events') {
      const event = eventBody(CAPTURED_SERIAL)
      made.push({ value: event.email, make: (serial) => eventBody(serial).email })
      // Times of rows that are written from JSON.
      made.push({ value: now.toISOString(), make: () => new Date().toISOString() })
      await postEvent(event)
    } else {
      const email = emailBody(CAPTURED_SERIAL)
      made.push({ value: email.to, make: (serial) => emailBody(serial).to })
      const daily = createDailyLimit(deps, noLimits)
      await sendEmail({ ...deps, daily, emailGroups: createEmailGroups(deps) }, key, email)
    }
    capture.stop()
    const { sessions } = capture
    const send = createReplay(pool, sessions, { made, now })
    const wake = createWake(pool, (err) => process.stderr.write(`${String(err)}\n`))
    replay = async (serial) => {
      await send(serial)
      for (const channel of woken) wake(channel)
    }
    const statements = [
      ...sessions.flat().map(({ name, text }) => `${name ? 'prepared ' : ''}${text.trim()}`),
      ...woken.map((channel) => `notify ${channel}`),
    ]
    return { statements, requests: kind === 'events' ? 2 : 1 }
  },

  async run(input: { bounds: LoadBounds; from: number }): Promise<LoadResult> {
    const send = replay
    if (!send) throw new Error('prepare comes first')
    return runLoad(input.bounds, (serial) => send(input.from + serial))
  },
}

export type SqlLoad = typeof handlers

serve(handlers)
