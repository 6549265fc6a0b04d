// The settings of a design: their schema, and what may be wrong with them.
import { z } from 'zod'
import { type CheckAt, problemAt } from './context.ts'
import { checkOneOf, checkSender } from './fieldChecks.ts'
import type { Problem } from './problem.ts'

const onUnsubscribe = ['cancel', 'skip_sends'] as const
const onStepFailure = ['fail', 'continue'] as const

export const settingsSchema = z
  .object({
    on_unsubscribe: z
      .enum(onUnsubscribe)
      .describe(
        'When the contact leaves this workflow: `cancel` its executions (unless said), or let them go on and skip sends',
      )
      .exactOptional(),
    on_step_failure: z
      .enum(onStepFailure)
      .describe(
        'When a step fails that has no `failed` handle wired: `fail` the execution (unless said), or `continue`',
      )
      .exactOptional(),
    default_from: z
      .string()
      .describe('The sender of mail that names none: one address, or `Name <address>`')
      .exactOptional(),
  })
  .describe('What holds for the whole design')
export type Settings = z.infer<typeof settingsSchema>

const known = new Set(Object.keys(settingsSchema.shape))

/** What is wrong with a design's settings: those that are unknown, and values that a setting does not take. */
export function settingsProblems(at: CheckAt): Problem[] {
  const unknown = Object.keys(at.data).filter((key) => !known.has(key))
  return [
    ...unknown.flatMap((key) =>
      problemAt(at, key.slice(0, 64), 'unknown_setting', 'this setting is not supported'),
    ),
    ...checkOneOf(at, 'on_unsubscribe', onUnsubscribe),
    ...checkOneOf(at, 'on_step_failure', onStepFailure),
    ...checkSender(at, 'default_from'),
  ]
}
