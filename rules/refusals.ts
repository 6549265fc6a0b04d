// Why a command refuses: a closed union. Each asker gives a refusal its own form (HTTP, SMTP, a job's line).

/** What each code tells besides itself. A code is stable; clients see it. */
interface RefusalFacts {
  alias_taken: { alias: string }
}

export type RefusalCode = keyof RefusalFacts

declare const refused: unique symbol

/** A command's answer when it did nothing. Made by `refuse` alone. */
export type Refusal<C extends RefusalCode = RefusalCode> = {
  [K in C]: { readonly [refused]: true; readonly code: K } & Readonly<RefusalFacts[K]>
}[C]

const made = new WeakSet<object>()

/** A refusal: `refuse('alias_taken', { alias })`. */
export function refuse<C extends RefusalCode>(code: C, facts: RefusalFacts[C]): Refusal<C> {
  const refusal = Object.freeze({ ...facts, code }) as unknown as Refusal<C>
  made.add(refusal)
  return refusal
}

/** Whether a command's answer is a refusal; what is left otherwise is its value. */
export function isRefusal<T>(answer: T): answer is Extract<T, Refusal> {
  return typeof answer === 'object' && answer !== null && made.has(answer)
}
