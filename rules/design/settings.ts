// The settings of a design: their schema, and what may be wrong with them.
import { z } from 'zod'
import { conditionSchema } from '../conditions/schema.ts'
import type { JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { ms } from '../nodes/fields.ts'
import { didYouMean, shown, shownText, typeName } from '../shown.ts'
import { type CheckAt, problemAt } from './context.ts'
import {
  checkConditions,
  checkMs,
  checkOneOf,
  checkSender,
  type HeldCondition,
  isGiven,
} from './fieldChecks.ts'
import { checkFrequencyCap, frequencyCap } from './frequencyCap.ts'
import type { Problem } from './problem.ts'
import { checkZone } from './timeChecks.ts'

const onUnsubscribe = ['cancel', 'skip_sends'] as const
const onStepFailure = ['fail', 'continue'] as const
const onPause = ['continue', 'hold'] as const

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
    on_pause: z
      .enum(onPause)
      .describe(
        'What executions do while the workflow is not active: `continue` lets them go on; `hold` stops each before its next ' +
          'node, until the workflow is active again',
      )
      .meta({ default: 'continue' })
      .exactOptional(),
    default_from: z
      .string()
      .describe(
        'The sender of mail that names none, as `Acme <hello@acme.com>`, on a verified domain',
      )
      .exactOptional(),
    exit_conditions: z
      .array(conditionSchema)
      .max(limits.exitConditionsMax)
      .describe(
        'An execution ends, COMPLETED with outcome `exited`, when any of them holds: looked at when it enters, before each ' +
          'send, when a wait begins, and at each change of the contact during a wait',
      )
      .exactOptional(),
    max_duration_ms: ms
      .min(1)
      .describe(
        'So long after its start an execution ends, COMPLETED with outcome `max_duration`, in any wait',
      )
      .exactOptional(),
    frequency_cap: frequencyCap.exactOptional(),
    timezone: z
      .string()
      .describe(
        'An IANA time zone such as `Europe/Berlin`: that of contacts without a property `timezone` that names one; else UTC',
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
    ...checkOneOf(at, 'on_pause', onPause),
    ...checkSender(at, 'default_from'),
    ...checkExits(at),
    ...checkMs(at, 'max_duration_ms', 1),
    ...checkFrequencyCap(at),
    ...checkZone(at, 'timezone'),
  ]
}

/** The conditions of the settings, each at its place. */
export function exitConditions({ exit_conditions: given }: JsonObject): HeldCondition[] {
  if (!Array.isArray(given)) return []
  return given.slice(0, limits.exitConditionsMax).map((value, i) => ({
    key: `exit_conditions.${i}`,
    value,
    scope: 'node',
    isRequired: true,
  }))
}

function checkExits(at: CheckAt): Problem[] {
  const given = at.data['exit_conditions']
  if (!isGiven(given)) return []
  if (!Array.isArray(given) || given.length > limits.exitConditionsMax) {
    const came = Array.isArray(given) ? `${given.length}` : typeName(given)
    const message = `exit_conditions must be an array of up to ${limits.exitConditionsMax} conditions, not ${came}`
    return problemAt(at, 'exit_conditions', 'bad_value', message)
  }
  return checkConditions(at, exitConditions(at.data))
}
