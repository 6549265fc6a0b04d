// The memory of one body: all of it is asked for when its size is known, otherwise a small part first.
import type { createBodyBudget, Grant } from './budget.ts'
import { type BodyRules, countedBytes } from './rules.ts'

/** Whose body it is, and what is known of it. */
interface BodyFacts {
  workspaceId: string
  /** The size that its headers state; undefined for a body in chunks. */
  stated: number | undefined
  /** The size of the largest body that the operation takes. */
  bytesMax: number
  /** Gives a signal for when the client has gone. */
  gone: () => AbortSignal | undefined
}

/** Makes the account of one body. */
export function createBodyMemory(
  budget: ReturnType<typeof createBodyBudget>,
  rules: BodyRules,
  { workspaceId, stated, bytesMax, gone }: BodyFacts,
) {
  const most = countedBytes(stated ?? bytesMax)
  const first = stated === undefined ? Math.min(most, rules.smallBytesMax) : most
  let grant: Grant | undefined
  let signal: AbortSignal | undefined
  return {
    isInTheWay: (): boolean => grant?.isInTheWay() ?? false,
    /**
     * Waits until that much of the body may be kept. What is not counted is read before anything is asked for, since Node
     * does not notice that a client has gone while what it sent is not read: who sent little and went away leaves the line.
     * Of one who sent more it is seen when its turn comes.
     * @throws ApiError 503 `service_unavailable`; ClientGone
     */
    async hold(bytes: number): Promise<void> {
      if (bytes <= rules.freeBytesMax) return
      signal ??= gone()
      grant ??= await budget.ask(workspaceId, { bytes: first, most }, signal)
      if (countedBytes(bytes) > first) await grant.grow(signal)
    },
    /** Says that the body is whole. */
    came: (bytes: number): void => grant?.shrink(countedBytes(bytes)),
    /** Gives everything back. */
    release: (): void => grant?.release(),
  }
}

export type BodyMemory = ReturnType<typeof createBodyMemory>
