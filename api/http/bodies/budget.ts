// The memory for bodies: who may have how much at once, and in which order those who wait get it.
import { ClientGone } from '../../../db/shares.ts'
import { serviceUnavailable } from '../unavailable.ts'
import type { BudgetRules } from './rules.ts'

/** Memory that a body may use. */
export interface Grant {
  /**
   * Waits for the most that was named when it was asked for. What it has stays with it meanwhile.
   * @param signal when the client has gone
   * @throws ApiError 503 `service_unavailable` after `wait_ms`; ClientGone
   */
  grow(signal?: AbortSignal): Promise<void>
  /** Says that the body has come, and gives back what is over `bytes`. */
  shrink(bytes: number): void
  /** Whether somebody waits who could be admitted if this body ended, and no larger one is still coming. */
  isInTheWay(): boolean
  /** Gives everything back; later calls change nothing. */
  release(): void
}

/** What is asked for. */
interface Wanted {
  bytes: number
  /** What may be asked for beside that later. */
  rest: number
  /** Whether a body that holds memory asks for its rest. */
  isGrowth: boolean
}

interface Waiter extends Wanted {
  admit(): void
}

interface Held {
  readonly workspaceId: string
  bytes: number
  rest: number
  /** While it waits for its rest, its client is not waited for. */
  isWaiting: boolean
}

/** Why somebody has to wait. */
interface Obstacle {
  /** Whose bodies are in the way; null: those of all workspaces. */
  workspaceId: string | null
  /** Whether only those are in the way that may ask for more. */
  isGrowth: boolean
}

/**
 * Makes the budget of a process. Whoever fits gets memory at once. Otherwise they wait: in turns by workspace, within
 * one in the order in which they came. Nobody passes the one whose turn it is, so small bodies do not keep a large one
 * waiting for ever; but a workspace that has used up its share keeps no other one waiting, and a part is kept for small
 * bodies, which pass the large ones there.
 *
 * A body of unknown size begins with a small part and may ask for its rest. Bodies that hold such parts could wait for
 * each other for ever. So no more are admitted than leave room for the rest of each, one after the other, and for the
 * largest body of any workspace; and a rest comes before what its workspace has not begun, the smallest first.
 */
export function createBodyBudget(rules: BudgetRules) {
  let used = 0
  const usedBy = new Map<string, number>()
  /** Those who wait, by workspace; the first workspace is the next one. */
  const waiting = new Map<string, Waiter[]>()
  /** Bodies that hold memory and have not come whole. */
  const coming = new Set<Held>()

  const add = (workspaceId: string, bytes: number) => {
    used += bytes
    const share = (usedBy.get(workspaceId) ?? 0) + bytes
    if (share > 0) usedBy.set(workspaceId, share)
    else usedBy.delete(workspaceId)
  }
  /** What those hold who may ask for more, of one workspace or of all. */
  const begun = (workspaceId?: string): number => {
    let bytes = 0
    for (const held of coming) {
      if (held.rest === 0) continue
      if (workspaceId === undefined || held.workspaceId === workspaceId) bytes += held.bytes
    }
    return bytes
  }
  const isSmall = ({ bytes, isGrowth }: Wanted) => !isGrowth && bytes <= rules.smallBytesMax

  /** What keeps somebody from being admitted; null if they fit. */
  const obstacleOf = (workspaceId: string, wanted: Wanted): Obstacle | null => {
    const { bytes, rest } = wanted
    const share = rules.workspaceBytesMax
    if ((usedBy.get(workspaceId) ?? 0) + bytes > share) return { workspaceId, isGrowth: false }
    if (rest > 0 && begun(workspaceId) + bytes + rest > share) {
      return { workspaceId, isGrowth: true }
    }
    const large = rules.processBytesMax - rules.reserveBytes
    const most = isSmall(wanted) ? rules.processBytesMax : large
    if (used + bytes > most) return { workspaceId: null, isGrowth: false }
    const others = rest > 0 ? begun() : 0
    const isFull = others > 0 && others + bytes + share > large
    return isFull ? { workspaceId: null, isGrowth: true } : null
  }

  /** Puts one into the queue of its workspace. */
  const enter = (workspaceId: string, waiter: Waiter) => {
    const queue = waiting.get(workspaceId) ?? []
    const passed = (other: Waiter) =>
      waiter.isGrowth && (!other.isGrowth || other.bytes > waiter.bytes)
    const at = queue.findIndex(passed)
    waiting.set(workspaceId, queue.toSpliced(at < 0 ? queue.length : at, 0, waiter))
  }
  /** Takes one out of the queue of its workspace. */
  const leave = (workspaceId: string, waiter: Waiter) => {
    const queue = (waiting.get(workspaceId) ?? []).filter((other) => other !== waiter)
    if (queue.length > 0) waiting.set(workspaceId, queue)
    else waiting.delete(workspaceId)
  }

  /** Admits the next one that fits. @returns false if there is none */
  const admitNext = (): boolean => {
    let isLargeNext = false
    for (const [workspaceId, queue] of waiting) {
      const [first] = queue
      if (!first) continue
      const obstacle = obstacleOf(workspaceId, first)
      // Others pass who waits for its own workspace, or for bodies that may themselves wait for their rest.
      if (obstacle?.workspaceId === workspaceId || obstacle?.isGrowth) continue
      if (isLargeNext && (!isSmall(first) || rules.reserveBytes === 0)) continue
      if (obstacle) {
        isLargeNext = true
        continue
      }
      // The workspace goes to the end of the line.
      waiting.delete(workspaceId)
      if (queue.length > 1) waiting.set(workspaceId, queue.slice(1))
      first.admit()
      return true
    }
    return false
  }
  const admitAll = () => {
    while (admitNext());
  }

  /** The largest body that is still coming, of those that are an obstacle. */
  const largestOf = ({ workspaceId, isGrowth }: Obstacle): Held | undefined => {
    let most: Held | undefined
    for (const held of coming) {
      if (held.isWaiting || (isGrowth && held.rest === 0)) continue
      if (workspaceId !== null && held.workspaceId !== workspaceId) continue
      if (!most || held.bytes > most.bytes) most = held
    }
    return most
  }
  const isInTheWay = (held: Held): boolean => {
    for (const [workspaceId, [first]] of waiting) {
      const obstacle = first ? obstacleOf(workspaceId, first) : null
      if (obstacle && largestOf(obstacle) === held) return true
    }
    return false
  }

  /** Waits for memory. @param take is called as soon as it is there */
  const wait = <T>(
    workspaceId: string,
    wanted: Wanted,
    take: () => T,
    signal: AbortSignal | undefined,
  ): Promise<T> =>
    new Promise((resolve, reject) => {
      const waiter: Waiter = {
        ...wanted,
        admit() {
          stop()
          resolve(take())
        },
      }
      const giveUp = (err: Error) => {
        stop()
        leave(workspaceId, waiter)
        reject(err)
        admitAll()
      }
      const onGone = () =>
        giveUp(new ClientGone('the client went away while its body waited for memory'))
      const timer = setTimeout(() => giveUp(serviceUnavailable('bodies')), rules.wait_ms)
      const stop = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onGone)
      }
      signal?.addEventListener('abort', onGone)
      enter(workspaceId, waiter)
      if (signal?.aborted) onGone()
      else admitAll()
    })

  const grant = (workspaceId: string, { bytes, rest }: Wanted): Grant => {
    const held: Held = { workspaceId, bytes, rest, isWaiting: false }
    add(workspaceId, bytes)
    coming.add(held)
    const take = (more: number) => {
      held.bytes += more
      held.rest = 0
      held.isWaiting = false
      add(workspaceId, more)
    }
    const shrink = (wanted: number) => {
      const mayGrow = held.rest > 0
      coming.delete(held)
      const over = held.bytes - Math.min(held.bytes, wanted)
      take(-over)
      if (over > 0 || mayGrow) admitAll()
    }
    const grow = async (signal?: AbortSignal) => {
      const { rest } = held
      if (rest === 0) return
      held.isWaiting = true
      const wanted = { bytes: rest, rest: 0, isGrowth: true }
      await wait(workspaceId, wanted, () => take(rest), signal)
    }
    return { grow, shrink, release: () => shrink(0), isInTheWay: () => isInTheWay(held) }
  }

  return {
    /** Bytes in use, and how many wait: for tests and metrics. */
    state: () => ({ used, waiting: [...waiting.values()].flat().length }),
    /**
     * Waits for memory.
     * @param wanted at once, and at most with all that `grow` asks for later
     * @param signal when the client has gone
     * @throws ApiError 503 `service_unavailable` after `wait_ms`; ClientGone
     */
    ask(
      workspaceId: string,
      { bytes, most = bytes }: { bytes: number; most?: number },
      signal?: AbortSignal,
    ): Promise<Grant> {
      const share = rules.workspaceBytesMax
      const first = Math.min(bytes, share)
      const wanted = { bytes: first, rest: Math.min(most, share) - first, isGrowth: false }
      return wait(workspaceId, wanted, () => grant(workspaceId, wanted), signal)
    },
  }
}
