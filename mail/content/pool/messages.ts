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
  /** Of its thread's processor time, and three times as much by the clock, from the moment in which the thread begins. */
  limit_ms: number
  /** A `RenderJob` as JSON. */
  job: string
}

export type Outcome = { id: number } & (
  | { kind: 'done'; result: RenderResult }
  | {
      kind: 'too_slow'
      /** The part that was being rendered. */
      part: string
      /** Its thread is inside one long call of the engine, and goes on until that ends. */
      isStuck: boolean
    }
  /** It had too little of the processor to be called too slow. */
  | { kind: 'starved'; part: string; isStuck: boolean }
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
