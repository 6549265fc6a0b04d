// The memory of answers that their clients have not taken: how much there may be, and who waits for it.
import type { ServerResponse } from 'node:http'
import { ClientGone } from '../../db/shares.ts'
import { MEBIBYTE } from '../../rules/limits.ts'
import { serviceUnavailable } from './unavailable.ts'

/** A test chooses smaller numbers. */
export interface AnswerRules {
  /** Of one workspace. One answer alone may be larger. */
  untakenBytesMax: number
  /** Of all workspaces, before another large answer is made. */
  untakenBytesMaxOfAll: number
  /** How long a request waits until answers have been taken. */
  untakenWait_ms: number
  /** A smaller rest of an answer is not counted. */
  untakenFreeBytes: number
}

export const answerRules: AnswerRules = {
  untakenBytesMax: 96 * MEBIBYTE,
  untakenBytesMaxOfAll: 192 * MEBIBYTE,
  untakenWait_ms: 30_000,
  untakenFreeBytes: 64 * 1024,
}

/** The answer of one request. */
export interface Answer {
  /**
   * Waits until the workspace may have so much more.
   * @param bytes of an answer that is known to be large, before it is made; 0 for one of unknown size
   * @throws ApiError 503 `service_unavailable`; ClientGone
   */
  room(bytes: number): Promise<void>
}

interface Waiter {
  workspaceId: string
  bytes: number
  enter: () => void
}

/** Makes the account of a process. */
export function createAnswers(rules: AnswerRules) {
  let all = 0
  const ofWorkspace = new Map<string, number>()
  const waiting = new Set<Waiter>()

  const fits = ({ workspaceId, bytes }: Omit<Waiter, 'enter'>): boolean => {
    const own = ofWorkspace.get(workspaceId) ?? 0
    if (own > 0 && own + bytes > rules.untakenBytesMax) return false
    return bytes === 0 || all === 0 || all + bytes <= rules.untakenBytesMaxOfAll
  }
  const add = (workspaceId: string, bytes: number) => {
    all += bytes
    const own = (ofWorkspace.get(workspaceId) ?? 0) + bytes
    if (own > 0) ofWorkspace.set(workspaceId, own)
    else ofWorkspace.delete(workspaceId)
  }
  /** Counts bytes until the answer was taken or its connection has ended. */
  const count = (workspaceId: string, bytes: number, outgoing: ServerResponse) => {
    if (bytes === 0 || outgoing.destroyed) return
    add(workspaceId, bytes)
    outgoing.once('close', () => {
      add(workspaceId, -bytes)
      for (const waiter of waiting) if (fits(waiter)) waiter.enter()
    })
  }
  const wait = (wanted: Omit<Waiter, 'enter'>, outgoing: ServerResponse): Promise<void> =>
    new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        waiting.delete(waiter)
        outgoing.off('close', onGone)
        settle()
      }
      // Counted here, so that the next one who waits does not find the same room.
      const enter = () =>
        end(() => {
          count(wanted.workspaceId, wanted.bytes, outgoing)
          resolve()
        })
      const onGone = () =>
        end(() => reject(new ClientGone('the client went away while its request waited')))
      const timer = setTimeout(
        () => end(() => reject(serviceUnavailable('answers'))),
        rules.untakenWait_ms,
      )
      const waiter = { ...wanted, enter }
      waiting.add(waiter)
      outgoing.once('close', onGone)
      if (outgoing.destroyed) onGone()
      else if (fits(wanted)) enter()
    })

  return {
    /** Bytes that have not been taken, and requests that wait until some are: for tests. */
    state: () => ({ untaken: all, waiting: waiting.size }),
    /**
     * Begins the account of one answer. When it has been made, what the system did not take at once is counted.
     * @param outgoing undefined for a request without a socket, whose answer is not counted
     */
    of(workspaceId: string, outgoing: ServerResponse | undefined): Answer {
      if (!outgoing) return { room: async () => undefined }
      let isCounted = false
      outgoing.once('prefinish', () =>
        setImmediate(() => {
          const { writableLength } = outgoing
          if (!isCounted && writableLength > rules.untakenFreeBytes)
            count(workspaceId, writableLength, outgoing)
        }),
      )
      return {
        async room(bytes) {
          isCounted ||= bytes > 0
          const wanted = { workspaceId, bytes }
          if (bytes > 0 || !fits(wanted)) await wait(wanted, outgoing)
        },
      }
    },
  }
}
