// Bounds the bytes of large emails that are written at a time: one of 40 MB keeps a processor of Postgres for a third of a second.
import { setTimeout as pause } from 'node:timers/promises'
import type { NewEmail } from '../../db/emails/insert.ts'
import { currentScope } from '../../db/scope.ts'
import { ClientGone, NoPlace } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createFairBudget } from '../../runtime/fairBudget.ts'

/** Smaller emails wait for nobody. */
export const LARGE_BYTES = 256 * 1024

interface Bounds {
  /** Bytes that are written at a time, half of them of one workspace; a larger email is written alone. */
  bytesMax: number
  wait_ms: number
}

const usual: Bounds = { bytesMax: 8 * 1024 * 1024, wait_ms: 30_000 }

/** The longest rest after one email. */
const REST_MS_MAX = 1_000

/**
 * Makes a function that does the work which commits an email: at once, or in turn if it is large. Workspaces that wait take
 * turns. No connection of the pool is held meanwhile.
 *
 * Emails that are written alone follow each other with rests as long as the writing took: while Postgres packs their texts
 * everybody else has one processor less. Smaller emails are written in these rests.
 * @param rest waits so many ms; a test has its own
 */
export function createLargeWrites(
  { bytesMax, wait_ms }: Bounds = usual,
  rest: (ms: number) => Promise<unknown> = (ms) => pause(ms, undefined, { ref: false }),
) {
  const inTurn = createFairBudget({ bytesMax, ownerBytesMax: bytesMax / 2 })
  const oneByOne = createFairBudget({ bytesMax: 1, ownerBytesMax: 1 })

  /** Answers when the work is done, and gives the turn to the next one after the rest. */
  const thenRest = <T>(workspaceId: WorkspaceId, work: () => Promise<T>, signal: AbortSignal) =>
    new Promise<T>((resolve, reject) => {
      const turn = oneByOne(
        workspaceId,
        1,
        async () => {
          const began = performance.now()
          await work().then(resolve, reject)
          await rest(Math.min(performance.now() - began, REST_MS_MAX))
        },
        signal,
      )
      turn.catch(reject)
    })

  /** @throws NoPlace when its turn does not come in time; ClientGone; what the work throws */
  return async <T>(
    workspaceId: WorkspaceId,
    email: NewEmail,
    work: () => Promise<T>,
  ): Promise<T> => {
    const bytes = bytesOf(email)
    if (bytes < LARGE_BYTES) return work()
    const waiting = waitAtMost(wait_ms, currentScope().signal)
    const write = () => inTurn(workspaceId, bytes, work, waiting.signal)
    try {
      return await (bytes > bytesMax ? thenRest(workspaceId, write, waiting.signal) : write())
    } finally {
      waiting.end()
    }
  }
}

/** That of this process, all of which writes to one Postgres. */
export const largeInTurn = createLargeWrites()

/** A signal that is aborted, with what is to be thrown, when the time is over or the client has gone, until `end` is called; nobody listens once the work began. */
function waitAtMost(ms: number, client: AbortSignal | null) {
  const over = new AbortController()
  const onGone = () => over.abort(new ClientGone('the client went away while it waited'))
  const late = () => over.abort(new NoPlace('large emails before this one took too long'))
  const timer = setTimeout(late, ms)
  if (client?.aborted) onGone()
  client?.addEventListener('abort', onGone, { once: true })
  return {
    signal: over.signal,
    end() {
      clearTimeout(timer)
      client?.removeEventListener('abort', onGone)
    },
  }
}

/** Of a string its UTF-16 units, which are as good for this. */
const bytesOf = ({ row, attachments, source }: NewEmail): number =>
  attachments.reduce(
    (sum, { content }) => sum + content.length,
    (row.html?.length ?? 0) + (row.text?.length ?? 0) + (source?.length ?? 0),
  )
