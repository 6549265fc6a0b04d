// The condition language as a schema: for types and the interface description. What is wrong with one says validate.ts.
import { z } from 'zod'
import type { Json, JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { activityStatuses, type Condition, countOperators, operators } from './types.ts'

/** Any JSON value. It describes; nothing is parsed by it, so it need not look inside. */
export const anyJson: z.ZodType<Json> = z.any()

/** An object of any JSON values. */
export const anyObject: z.ZodType<JsonObject> = z.record(z.string(), anyJson)

const plainValue = z.union([z.string(), z.number(), z.boolean(), z.null()])

const connective = z
  .object({
    type: z.enum(['and', 'or']).describe('All of the rules must hold, or any of them'),
    get rules() {
      const most = `At most ${limits.conditionRulesMax} in the whole condition`
      return z.array(conditionSchema).min(1).describe(most)
    },
  })
  .describe('Joins conditions')

const negation = z
  .object({
    type: z.literal('not').describe('Holds when its rule does not'),
    get rules() {
      const one = 'Exactly one; join several with `and` or `or`'
      return z.array(conditionSchema).length(1).describe(one)
    },
  })
  .describe('Turns a condition round')

const rule = z
  .object({
    type: z.literal('rule').describe('Compares one field'),
    field: z
      .string()
      .min(1)
      .max(limits.pathCharsMax)
      .describe(
        '`contact.email`, `contact.first_seen`, `properties.a.b`, `event.a.b`, `wait_events.<node id>.a`, ' +
          '`execution.step_count`; in the filter of a wait `trigger.a.b` too. `[]` after a name means any element',
      ),
    operator: z.enum(operators).describe('What is asked of the field'),
    value: z
      .union([plainValue, z.array(plainValue).max(limits.conditionListMax)])
      .describe(
        'What the field is compared with: a list for `in` and `not_in`, ms or ISO 8601 for times and spans; ' +
          'none for `exists`, `is_empty`, `is_true` and their opposites',
      )
      .exactOptional(),
    ci: z.boolean().describe('True: upper and lower case are the same').exactOptional(),
  })
  .describe('One comparison; a missing field makes only the negative operators true')

const eventCount = z
  .object({
    type: z.literal('event_count').describe("Counts the contact's events"),
    event_name: z.string().min(1).max(limits.eventNameCharsMax).describe('Which events'),
    operator: z.enum(countOperators).describe('How their number is compared'),
    value: z.int().min(0).describe('The number'),
    within_ms: z.int().min(1).describe('Only events of the last so many ms').exactOptional(),
  })
  .describe('How often something has happened')

const emailActivity = z
  .object({
    type: z.literal('email_activity').describe('Asks after the mail of this execution'),
    node_id: z.string().describe('A send_email node of this design, or `any`'),
    status: z.enum(activityStatuses).describe('What the mail has reached'),
  })
  .describe('What became of a mail')

const audience = z
  .object({
    type: z.literal('audience').describe('Asks after an audience'),
    audience_id: z.string().min(1).describe('One of this workspace'),
    member: z.boolean().describe('True: the contact is in it; false: is not'),
  })
  .describe('Whether the contact is in an audience')

/** A condition, with conditions inside it. */
export const conditionSchema: z.ZodType<Condition> = z.discriminatedUnion('type', [
  connective,
  negation,
  rule,
  eventCount,
  emailActivity,
  audience,
])
