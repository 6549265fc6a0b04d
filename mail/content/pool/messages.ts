// What the process and its child of rendering threads say to each other.
import type { RenderedEmail, TemplateParts, TemplateScope } from '../template.ts'

/** What a thread renders; it travels as JSON. */
export interface RenderJob {
  parts: TemplateParts
  scope: TemplateScope
}

/** The email, or its JSON when that is up to 64 Ki characters. */
export type RenderResult = RenderedEmail | string

export interface Task {
  id: number
  /** Which of the child's threads. */
  slot: number
  /** Of its thread's processor time, from the moment in which the thread begins. */
  limit_ms: number
  /** The same by the clock, for a render that gets little of the processor. */
  clock_ms: number
  /** A `RenderJob` as JSON. */
  job: string
}

/**
 * A render that gets less than a third of a processor ends after so many times its limit by the clock. One that is
 * tried alone keeps all others waiting, and has its limit by the clock too.
 */
const CLOCK_FACTOR = 3

export const toTask = (
  { id, slot, limit_ms, text }: Omit<Task, 'clock_ms' | 'job'> & { text: string },
  isAlone: boolean,
): Task => ({
  id,
  slot,
  limit_ms,
  clock_ms: isAlone ? limit_ms : CLOCK_FACTOR * limit_ms,
  job: text,
})

export type Outcome = { id: number } & (
  | { kind: 'done'; result: RenderResult }
  | {
      /** `starved`: past its time by the clock alone, with too little of the processor to be called too slow. */
      kind: 'too_slow' | 'starved'
      /** The part that was being rendered. */
      part: string
      /** Its thread is inside one long call of the engine, and goes on until that ends. */
      isStuck: boolean
    }
  | { kind: 'out_of_memory' }
  | { kind: 'failed' }
)

/** `alive` is sent once a second. */
export type FromChild =
  | { kind: 'ready' }
  | { kind: 'alive' }
  | { kind: 'outcomes'; outcomes: Outcome[] }

/** Threads for first tries. */
export const FIRST_SLOTS = 4

/** The place for second tries stands behind them. Each has a fresh thread there. */
export const isSecondSlot = (slot: number) => slot === FIRST_SLOTS
