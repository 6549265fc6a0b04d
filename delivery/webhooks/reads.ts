// Reads what is due at an endpoint, some at a time, while what was read before is sent.
import type { Db } from '../../db/connect.ts'
import {
  type DueWebhookDelivery,
  listDueDeliveries,
  type TakenWebhook,
} from '../../db/webhooks/lanes.ts'
import { limits } from '../../rules/limits.ts'
import type { QueuedBytes, ReadPace } from './queuedBytes.ts'

/** How long what was read may wait to be begun: the endpoint may have been changed or deleted since. */
const FRESH_MS = 1_000
/** Of what a read may bring, the part that is left when the next one begins. */
const READ_AHEAD = 1 / 4

/** What is under way at the endpoint. */
interface Hand {
  /** Ids of the deliveries. */
  ids(): string[]
  isHealthy(): boolean
  /** How often one of them has moved on. */
  moves(): number
  /** Says that there may be more to begin, or nothing. */
  changed(): void
}

/** What was read and is not begun, in order. */
export function createQueue(queued: QueuedBytes) {
  let all: { due: DueWebhookDelivery; read: number }[] = []
  let lastRead = { at: performance.now(), length: 0, count: 0 }
  let begun = 0
  const drop = () => {
    for (const { due } of all) queued.add(-due.body.length)
    all = []
  }
  return {
    drop,
    length: () => all.length,
    ids: () => all.map(({ due }) => due.id),
    pace: (): ReadPace => ({
      fresh: Math.floor((begun * FRESH_MS) / 2 / Math.max(1, performance.now() - lastRead.at)),
      length: lastRead.length,
      last: lastRead.count,
    }),
    push(found: readonly DueWebhookDelivery[]) {
      const read = performance.now()
      let length = 0
      for (const due of found) {
        length += due.body.length
        all.push({ due, read })
      }
      queued.add(length)
      const { length: count } = found
      lastRead = { at: read, length: Math.ceil(length / Math.max(1, count)), count }
      begun = 0
    },
    shift() {
      const due = all.shift()?.due
      if (due) queued.add(-due.body.length)
      begun += 1
      return due
    },
    /** Forgets all of it when the first was read too long ago. @returns whether it was */
    dropOld(): boolean {
      const [first] = all
      if (!first || performance.now() - first.read <= FRESH_MS) return false
      drop()
      return true
    },
  }
}

/** Reads what is due, while what was read before is sent. */
export function createReads(
  { db, queued }: { db: Db; queued: QueuedBytes },
  webhook: TakenWebhook,
  hand: Hand,
  queue: ReturnType<typeof createQueue>,
) {
  /** The one under way. One that is not wanted has left out what was forgotten since, and is forgotten too. */
  let reading: { isWanted: boolean; ended: Promise<void> } | null = null
  /** `hand.moves()` when one that found all that was due began; null: there is more. */
  let allReadAt: number | null = null
  let fault: { err: unknown } | null = null

  const isAllRead = () => allReadAt !== null && (queue.length() > 0 || allReadAt === hand.moves())

  async function read(limit: number, isWanted: () => boolean): Promise<void> {
    const moves = hand.moves()
    const but = [...hand.ids(), ...queue.ids()]
    try {
      const found = await listDueDeliveries(db, webhook, { but, limit })
      if (!isWanted()) return
      queue.push(found)
      allReadAt = found.length < limit ? moves : null
    } catch (err) {
      fault = { err }
    }
  }

  return {
    /** Begins one when little is left: `hand.change` resolves when it has come. */
    readAhead(): void {
      const limit = queued.limit(hand.isHealthy(), queue.pace())
      const leftMin = Math.max(Math.min(limit, limits.webhookUnderWayMax), limit * READ_AHEAD)
      if (reading || isAllRead() || queue.length() >= leftMin) return
      const one = { isWanted: true, ended: Promise.resolve() }
      one.ended = read(limit, () => one.isWanted).then(() => {
        reading = null
        hand.changed()
      })
      reading = one
    },
    /** Says that something was forgotten, which is due still. */
    forget(): void {
      allReadAt = null
      if (reading) reading.isWanted = false
    },
    isUnderWay: () => reading !== null,
    /** @throws what the last one has failed by */
    throwFault(): void {
      if (fault) throw fault.err
    },
    ended: async (): Promise<void> => reading?.ended,
  }
}
