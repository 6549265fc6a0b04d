// The settings of a design: their schema, and what may be wrong with them.
import { z } from 'zod'
import { didYouMean, shown, shownText } from '../shown.ts'
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
        'When the contact unsubscribes from this workflow: `cancel` ends their executions; `skip_sends` lets them go on, ' +
          'and marketing mail takes `skipped`',
      )
      .meta({ default: 'cancel' })
      .exactOptional(),
    on_step_failure: z
      .enum(onStepFailure)
      .describe(
        'When a step fails and no edge leaves by its handle `failed`: `fail` ends the execution FAILED; `continue` goes ' +
          'on by `default`',
      )
      .meta({ default: 'fail' })
      .exactOptional(),
    default_from: z
      .string()
      .describe(
        'The sender of mail that names none, as `Acme <hello@acme.com>`, on a verified domain',
      )
      .exactOptional(),
  })
  .describe('What holds for the whole design')
export type Settings = z.infer<typeof settingsSchema>

const known = Object.keys(settingsSchema.shape)

/** For an unknown setting. */
function unknownSetting(key: string): string {
  return `there is no setting ${shown(key)}: there are ${known.join(', ')}${didYouMean(key, known)}`
}

/** What is wrong with a design's settings: those that are unknown, and values that a setting does not take. */
export function settingsProblems(at: CheckAt): Problem[] {
  const unknown = Object.keys(at.data).filter((key) => !known.includes(key))
  return [
    ...unknown.flatMap((key) =>
      problemAt(at, shownText(key), 'unknown_setting', unknownSetting(key)),
    ),
    ...checkOneOf(at, 'on_unsubscribe', onUnsubscribe),
    ...checkOneOf(at, 'on_step_failure', onStepFailure),
    ...checkSender(at, 'default_from'),
  ]
}
