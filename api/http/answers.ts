// The memory of answers that their clients have not taken: how much there may be, and who waits for it.
import type { ServerResponse } from 'node:http'
import { ClientGone } from '../../db/shares.ts'
import { MEBIBYTE } from '../../rules/limits.ts'
import { serviceUnavailable } from './unavailable.ts'

/** A test chooses smaller numbers. */
export interface AnswerRules {
  /** Of one workspace. Its only answer may be larger. */
  untakenBytesMax: number
  /** Of all workspaces, where each counts with at most `untakenBytesMax`. */
  untakenBytesMaxOfAll: number
  /** What a workspace may have whatever the others do. */
  alwaysBytes: number
  /** What an answer counts with until it has been made, since nobody knows its size. */
  unmadeBytes: number
  /** A smaller rest of an answer is not counted. */
  untakenFreeBytes: number
  /** How long a request waits until answers have been taken. */
  untakenWait_ms: number
  /** Requests of one workspace that wait; further ones are refused at once. */
  untakenWaitersMax: number
  /** How often it is looked at what has been taken, while somebody waits. */
  untakenLook_ms: number
}

/** Answers that are let in are counted as small until they are made, so the sums can be exceeded by what is made at once. */
export const answerRules: AnswerRules = {
  untakenBytesMax: 96 * MEBIBYTE,
  untakenBytesMaxOfAll: 192 * MEBIBYTE,
  alwaysBytes: 16 * MEBIBYTE,
  unmadeBytes: 4 * MEBIBYTE,
  untakenFreeBytes: 64 * 1024,
  untakenWait_ms: 30_000,
  untakenWaitersMax: 200,
  untakenLook_ms: 1_000,
}

/** One answer, from when its request was let in until its connection or itself has ended. */
interface Held {
  readonly workspaceId: string
  readonly outgoing: ServerResponse
  /** What it counts with until it is made: 0 for a request that writes. */
  readonly unmadeBytes: number
  /** What it counts with now. */
  bytes: number
}

interface Waiter {
  readonly workspaceId: string
  enter(): void
}

/** Makes the account of a process. */
export function createAnswers(rules: AnswerRules) {
  const held = new Set<Held>()
  const bytesOf = new Map<string, number>()
  /** The sum, where each workspace counts with at most its share. */
  let all = 0
  const waiting = new Set<Waiter>()
  let timer: NodeJS.Timeout | undefined
  let looked_ms = 0

  const set = (one: Held, bytes: number) => {
    const before = bytesOf.get(one.workspaceId) ?? 0
    const after = before + bytes - one.bytes
    one.bytes = bytes
    const share = rules.untakenBytesMax
    all += Math.min(after, share) - Math.min(before, share)
    if (after > 0) bytesOf.set(one.workspaceId, after)
    else bytesOf.delete(one.workspaceId)
  }
  /**
   * What it holds in memory. Node keeps each write until the client has taken the last byte of it, so an answer of one write
   * counts whole until then.
   */
  const weigh = (one: Held) => {
    if (!held.has(one)) return
    const { writableEnded, writableLength } = one.outgoing
    if (!writableEnded) set(one, Math.max(one.unmadeBytes, writableLength))
    else set(one, writableLength > rules.untakenFreeBytes ? writableLength : 0)
  }
  /** A little is made for each workspace whatever the others have, so that a few of them cannot keep all waiting. */
  const fits = (workspaceId: string): boolean => {
    const own = bytesOf.get(workspaceId) ?? 0
    const more = rules.unmadeBytes
    if (own === 0 || own + more <= rules.alwaysBytes) return true
    return own + more <= rules.untakenBytesMax && all + more <= rules.untakenBytesMaxOfAll
  }
  const admit = () => {
    for (const waiter of waiting) if (fits(waiter.workspaceId)) waiter.enter()
  }
  const look = () => {
    looked_ms = performance.now()
    for (const one of held) weigh(one)
    admit()
  }
  const hold = (workspaceId: string, outgoing: ServerResponse, unmadeBytes: number) => {
    const one: Held = { workspaceId, outgoing, unmadeBytes, bytes: 0 }
    held.add(one)
    set(one, unmadeBytes)
    outgoing.once('prefinish', () => setImmediate(weigh, one))
    outgoing.once('close', () => {
      held.delete(one)
      set(one, 0)
      admit()
    })
  }
  /** Waits for room, and takes it. */
  const wait = (workspaceId: string, outgoing: ServerResponse): Promise<void> =>
    new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(late)
        waiting.delete(waiter)
        if (waiting.size === 0) clearInterval(timer)
        outgoing.off('close', onGone)
        settle()
      }
      const enter = () =>
        end(() => {
          hold(workspaceId, outgoing, rules.unmadeBytes)
          resolve()
        })
      const onGone = () =>
        end(() => reject(new ClientGone('the client went away while its request waited')))
      const refuse = () => end(() => reject(serviceUnavailable('answers')))
      const late = setTimeout(refuse, rules.untakenWait_ms)
      const waiter = { workspaceId, enter }
      outgoing.once('close', onGone)
      if (waiting.size === 0) timer = setInterval(look, rules.untakenLook_ms)
      waiting.add(waiter)
    })
  const waitersOf = (workspaceId: string): number => {
    let count = 0
    for (const waiter of waiting) if (waiter.workspaceId === workspaceId) count += 1
    return count
  }

  return {
    /** Bytes that have not been taken, and requests that wait until some are: for metrics and tests. */
    state() {
      look()
      const untaken = [...bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0)
      return { untaken, waiting: waiting.size }
    },
    /**
     * Begins the account of one answer. For a request that reads it waits until its workspace may have another one; one that
     * writes is never kept waiting by those who read.
     * @param outgoing undefined for a request without a socket, whose answer is not counted
     * @throws ApiError 503 `service_unavailable`; ClientGone
     */
    async begin(
      workspaceId: string,
      outgoing: ServerResponse | undefined,
      reads: boolean,
    ): Promise<void> {
      if (!outgoing || outgoing.destroyed) return
      if (!reads) return hold(workspaceId, outgoing, 0)
      if (!fits(workspaceId) || performance.now() - looked_ms > rules.untakenLook_ms) look()
      if (fits(workspaceId)) return hold(workspaceId, outgoing, rules.unmadeBytes)
      if (waitersOf(workspaceId) >= rules.untakenWaitersMax) throw serviceUnavailable('answers')
      await wait(workspaceId, outgoing)
    },
  }
}
