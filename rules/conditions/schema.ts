// The condition language as a schema: for types and the interface description. validate.ts finds what is wrong.
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
    type: z
      .enum(['and', 'or'])
      .describe('`and`: all of the rules must hold. `or`: at least one must'),
    get rules() {
      const most = `Conditions, at least one; the whole condition may hold ${limits.conditionRulesMax}`
      return z.array(conditionSchema).min(1).describe(most)
    },
  })
  .describe('Joins conditions: all of them must hold, or at least one')

const negation = z
  .object({
    type: z.literal('not').describe('Holds when its one rule does not'),
    get rules() {
      const one = 'Exactly one condition; join several with `and` or `or`'
      return z.array(conditionSchema).length(1).describe(one)
    },
  })
  .describe('Holds when its one condition does not')

const rule = z
  .object({
    type: z.literal('rule').describe('Compares one field'),
    field: z
      .string()
      .min(1)
      .max(limits.pathCharsMax)
      .describe(
        'What is looked at: `contact.email`, `contact.first_seen`, `properties.a.b`, `event.a.b`, ' +
          '`wait_events.<node id>.a`, `steps.<store_as>.body.a`, `execution.step_count`; in the filter of a wait `trigger.a.b` too. `[]` after a ' +
          'name means any element of that list',
      ),
    operator: z.enum(operators).describe('What is asked of the field'),
    value: z
      .union([plainValue, z.array(plainValue).max(limits.conditionListMax)])
      .describe(
        'What the field is compared with: a list for `in` and `not_in`, ms or ISO 8601 for times and durations. ' +
          '`exists`, `is_empty`, `is_true` and their opposites take none',
      )
      .exactOptional(),
    ci: z
      .boolean()
      .describe('`true`: upper and lower case of texts are the same')
      .meta({ default: false })
      .exactOptional(),
  })
  .describe('Compares one field with a value')

const eventCount = z
  .object({
    type: z.literal('event_count').describe('Counts events'),
    event_name: z
      .string()
      .min(1)
      .max(limits.eventNameCharsMax)
      .describe('The events that are counted'),
    operator: z.enum(countOperators).describe('How their number is compared with `value`'),
    value: z.int().min(0).describe('The number'),
    within_ms: z
      .int()
      .min(1)
      .describe('Counts only the events of the last so many ms; absent: all')
      .exactOptional(),
  })
  .describe("Counts the contact's events of one name")

const emailActivity = z
  .object({
    type: z.literal('email_activity').describe('Asks about mail of this execution'),
    node_id: z
      .string()
      .describe('The id of a `send_email` node of this design, or `any` for all of them'),
    status: z.enum(activityStatuses).describe('What must have happened to that mail'),
  })
  .describe('Asks what happened to mail that this execution sent')

const audience = z
  .object({
    type: z.literal('audience').describe('Asks about an audience'),
    audience_id: z.string().min(1).describe('The id of an audience of this workspace'),
    member: z.boolean().describe('`true`: the contact must be in it; `false`: must not be in it'),
  })
  .describe('Asks whether the contact is in an audience')

const segment = z
  .object({
    type: z.literal('segment').describe('Asks about a segment'),
    segment_id: z.string().min(1).describe('The id of a segment of this workspace'),
    member: z.boolean().describe('`true`: the contact must be in it; `false`: must not be in it'),
  })
  .describe('Asks whether the contact is in a segment, by what its condition says now')

/** A condition, with conditions inside it. */
export const conditionSchema: z.ZodType<Condition> = z.discriminatedUnion('type', [
  connective,
  negation,
  rule,
  eventCount,
  emailActivity,
  audience,
  segment,
])
