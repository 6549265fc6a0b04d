// Where executions begin: at an event, at something else that happens to the contact, at a time, or by a call of the API.
// Long because each kind of trigger is a schema, checks and conditions.
import { z } from 'zod'
import { anyJson, conditionSchema } from '../conditions/schema.ts'
import type { Condition } from '../conditions/types.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import {
  checkAudienceId,
  checkConditions,
  checkEventName,
  checkOneOf,
  checkSegmentId,
  checkText,
  type HeldCondition,
  isGiven,
  isPropertyPath,
} from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { checkMoment, checkZone } from '../design/timeChecks.ts'
import { happenings } from '../eventNames.ts'
import type { Json, JsonObject } from '../json.ts'
import { mustBeOneOf, shown } from '../shown.ts'
import { readMoment } from '../time/clock.ts'
import { parseCron } from '../time/cron.ts'
import { nextTimes } from '../time/schedule.ts'
import { firstZone } from '../time/zones.ts'
import { always, defineNode, type Entry, type EntrySchedule, never } from './define.ts'
import { eventName } from './fields.ts'
import { checkReEntry, reEntry } from './reEntry.ts'

/** What becomes of a mail, as `email_event` names it. */
const mailStatuses = [
  'sent',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'complained',
  'unsubscribed',
] as const

const kinds = {
  event: '`event`: an event of the contact',
  manual: '`manual`: a call of the API',
  audience_joined: '`audience_joined`: the contact joins an audience',
  audience_left: '`audience_left`: the contact is removed from an audience',
  contact_created: '`contact_created`: the contact is new',
  property_changed: '`property_changed`: a property of the contact has another value than before',
  email_event: '`email_event`: something becomes of a mail to the contact',
  segment_entered: '`segment_entered`: the contact enters a segment',
  segment_left: '`segment_left`: the contact leaves a segment',
  schedule: '`schedule`: a time has come, for each member of an audience',
} as const
type TriggerKind = keyof typeof kinds
const triggerKinds = Object.keys(kinds)

const kind = <const K extends TriggerKind>(name: K) =>
  z.literal(name).describe(`What starts an execution. ${Object.values(kinds).join('; ')}`)
const filter = (event: string) =>
  conditionSchema.describe(`Only when it holds; \`event.*\` is ${event}`).exactOptional()
const re_entry = reEntry.exactOptional()
const audience_id = z.string().describe('Id of the audience')
const segment_id = z.string().describe('Id of the segment')

const data = z.discriminatedUnion('kind', [
  z
    .object({
      kind: kind('event'),
      event_name: eventName,
      filter: filter('the arriving event'),
      re_entry,
    })
    .describe('Starts at an event'),
  z.object({ kind: kind('manual'), re_entry }).describe('Starts by hand'),
  z
    .object({
      kind: kind('audience_joined'),
      audience_id,
      filter: filter('`{audience_id}`'),
      re_entry,
    })
    .describe('Starts when the contact joins an audience'),
  z
    .object({
      kind: kind('audience_left'),
      audience_id,
      filter: filter('`{audience_id}`'),
      re_entry,
    })
    .describe('Starts when the contact is removed from an audience'),
  z
    .object({ kind: kind('contact_created'), filter: filter('empty'), re_entry })
    .describe('Starts when the contact is new'),
  z
    .object({
      kind: kind('property_changed'),
      path: z.string().describe('Dot path of the property, such as `address.city`'),
      from: anyJson.describe('Only when it had this value').exactOptional(),
      to: anyJson.describe('Only when it has this value now').exactOptional(),
      filter: filter('`{path, from, to}`; `from` or `to` is missing where the property was or is'),
      re_entry,
    })
    .describe('Starts when a property gets another value, by whoever'),
  z
    .object({
      kind: kind('email_event'),
      status: z.enum(mailStatuses).describe('What became of the mail. Machines do not count'),
      workflow_id: z.string().describe('Only mail of this workflow').exactOptional(),
      node_id: z.string().describe('Only mail of this node of that workflow').exactOptional(),
      link_contains: z
        .string()
        .describe('Only clicks on links that contain this text')
        .exactOptional(),
      filter: filter('`{email_id, status, link}` of the mail'),
      re_entry,
    })
    .describe('Starts when something becomes of a mail'),
  z
    .object({
      kind: kind('segment_entered'),
      segment_id,
      filter: filter('`{segment_id}`'),
      re_entry,
    })
    .describe('Starts when the contact enters a segment: by a change of what it reads, or by time'),
  z
    .object({
      kind: kind('segment_left'),
      segment_id,
      filter: filter('`{segment_id}`'),
      re_entry,
    })
    .describe('Starts when the contact leaves a segment: by a change of what it reads, or by time'),
  z
    .object({
      kind: kind('schedule'),
      at: z
        .union([z.number(), z.string()])
        .describe(
          'Once: ms since 1970 or ISO 8601; without an offset it is a time on the clocks of `timezone`. Either `at` or `cron`',
        )
        .exactOptional(),
      cron: z
        .string()
        .describe(
          'Again and again: minute, hour, day of the month, month and day of the week, such as `0 9 * * mon-fri`',
        )
        .exactOptional(),
      timezone: z
        .string()
        .describe(
          'IANA name of the zone on whose clocks the times are; absent: `settings.timezone`, else UTC',
        )
        .exactOptional(),
      audience_id: audience_id.describe(
        'Id of the audience: one execution for each of its subscribed members at each time',
      ),
      filter: filter('`{scheduled_at}`, the time in ms'),
      re_entry,
    })
    .describe('Starts at times of its own, for each member of an audience'),
])
type Data = z.infer<typeof data>

/** Opens and clicks are recorded each time; the first of each mail starts, unless the design says otherwise. */
const ONCE_FOR_EACH_STATUS = {
  mode: 'once',
  key_path: 'event.email_id',
  of_each_status: true,
} as const

/** A filter is asked when it happens, before there is an execution. */
function conditions({ kind, filter }: JsonObject): HeldCondition[] {
  if (kind === 'manual') return []
  return [{ key: 'filter', value: filter, scope: 'trigger_filter', isRequired: false }]
}

function check(at: CheckAt): Problem[] {
  const { kind } = at.data
  if (typeof kind !== 'string' || !triggerKinds.includes(kind)) {
    const message = `kind ${mustBeOneOf(triggerKinds, kind)}`
    return problemAt(at, 'kind', 'unsupported_trigger_kind', message)
  }
  return [
    ...checkOwn(at, kind as TriggerKind),
    ...checkConditions(at, conditions(at.data)),
    ...checkReEntry(at),
  ]
}

function checkOwn(at: CheckAt, kind: TriggerKind): Problem[] {
  switch (kind) {
    case 'event':
      return checkEventName(at, 'event_name')
    case 'audience_joined':
    case 'audience_left':
      return checkAudienceId(at, 'audience_id')
    case 'segment_entered':
    case 'segment_left':
      return checkSegmentId(at, 'segment_id')
    case 'property_changed': {
      const { path } = at.data
      if (isPropertyPath(path)) return []
      const message = `path must be a dot path of properties such as address.city, not ${shown(path)}`
      return problemAt(at, 'path', 'bad_value', message)
    }
    case 'email_event': {
      const missing = 'status is required'
      return [
        ...(isGiven(at.data['status']) ? [] : problemAt(at, 'status', 'missing_value', missing)),
        ...checkOneOf(at, 'status', mailStatuses),
        ...checkText(at, 'workflow_id'),
        ...checkText(at, 'node_id'),
        ...checkText(at, 'link_contains'),
      ]
    }
    case 'schedule':
      return checkSchedule(at)
    default:
      return []
  }
}

function checkSchedule(at: CheckAt): Problem[] {
  const { at: moment, cron } = at.data
  const given = [moment, cron].filter(isGiven).length
  const code = given === 0 ? 'missing_value' : 'bad_value'
  const message = `exactly one of at and cron is required, not ${given === 0 ? 'none' : 'both'}`
  return [
    ...(given === 1 ? [] : problemAt(at, 'at', code, message)),
    ...checkMoment(at, 'at'),
    ...checkIsAhead(at),
    ...checkCron(at),
    ...checkZone(at, 'timezone'),
    ...checkAudienceId(at, 'audience_id'),
  ]
}

function checkIsAhead(at: CheckAt): Problem[] {
  const { at: moment, timezone } = at.data
  const { now } = at.context
  const zone = firstZone(timezone, at.settings['timezone'])
  const read = isGiven(moment) ? readMoment(moment, zone) : null
  if (now === undefined || read === null || read.at > now) return []
  if (isOfLastActive(at, zone)) return []
  const message = `at must be ahead, not ${shown(moment)}, which is over`
  return problemAt(at, 'at', 'schedule_in_past', message)
}

/**
 * Whether it is a schedule of the version that was active last. It starts nobody again: one that is active goes on (`upsertSchedule`), and one
 * that was paused begins anew with no time left.
 */
function isOfLastActive(
  { nodeId, data, context: { activeSchedules = [] } }: CheckAt,
  zone: string,
): boolean {
  return activeSchedules.some(
    ({ node_id, audience_id, schedule }) =>
      node_id === nodeId &&
      audience_id === data['audience_id'] &&
      schedule.at === data['at'] &&
      schedule.timezone === zone,
  )
}

function checkCron(at: CheckAt): Problem[] {
  const { cron } = at.data
  if (!isGiven(cron)) return []
  const fault =
    typeof cron === 'string' ? parseCron(cron).fault : `must be a text, not ${shown(cron)}`
  if (fault !== undefined) return problemAt(at, 'cron', 'bad_value', `cron ${fault}`)
  if (nextTimes({ cron: String(cron), timezone: 'UTC' }, 0, 1).length > 0) return []
  const message = `cron must match some day of a calendar, not ${shown(cron)}`
  return problemAt(at, 'cron', 'bad_value', message)
}

const isEqual = (field: string, value: Json): Condition =>
  value !== null && typeof value === 'object'
    ? { type: 'rule', field, operator: 'in', value: [value] }
    : { type: 'rule', field, operator: 'eq', value }

/** What must hold beside the filter. */
function ownConditions(data: Data): Condition[] {
  switch (data.kind) {
    case 'audience_joined':
    case 'audience_left':
      return [isEqual('event.audience_id', data.audience_id)]
    case 'segment_entered':
    case 'segment_left':
      return [isEqual('event.segment_id', data.segment_id)]
    case 'property_changed':
      return [
        ...(data.from === undefined ? [] : [isEqual('event.from', data.from)]),
        ...(data.to === undefined ? [] : [isEqual('event.to', data.to)]),
      ]
    case 'email_event': {
      const { workflow_id, node_id, link_contains } = data
      return [
        ...(workflow_id ? [isEqual('event.workflow_id', workflow_id)] : []),
        ...(node_id ? [isEqual('event.node_id', node_id)] : []),
        ...(link_contains
          ? [
              {
                type: 'rule',
                field: 'event.link',
                operator: 'contains',
                value: link_contains,
              } as const,
            ]
          : []),
      ]
    }
    default:
      return []
  }
}

function nameOf(data: Data): Pick<Entry, 'event_name' | 'about'> {
  switch (data.kind) {
    case 'event':
      return { event_name: data.event_name, about: null }
    case 'manual':
    case 'schedule':
      return { event_name: null, about: null }
    case 'audience_joined':
      return { event_name: happenings.audienceJoined, about: data.audience_id }
    case 'audience_left':
      return { event_name: happenings.audienceLeft, about: data.audience_id }
    case 'segment_entered':
      return { event_name: happenings.segmentEntered, about: data.segment_id }
    case 'segment_left':
      return { event_name: happenings.segmentLeft, about: data.segment_id }
    case 'contact_created':
      return { event_name: happenings.contactCreated, about: null }
    case 'property_changed':
      return { event_name: happenings.propertyChanged, about: data.path }
    case 'email_event':
      return { event_name: `email.${data.status}`, about: null }
    default:
      return data satisfies never
  }
}

function scheduleOf({
  at,
  cron,
  timezone,
  audience_id,
}: Data & { kind: 'schedule' }): EntrySchedule {
  return {
    ...(isGiven(at) ? { at } : {}),
    ...(isGiven(cron) ? { cron } : {}),
    ...(isGiven(timezone) ? { timezone } : {}),
    audience_id,
  }
}

function entry(data: Data): Entry {
  const filter = data.kind === 'manual' ? undefined : data.filter
  const rules = [...ownConditions(data), ...(filter ? [filter] : [])]
  const [first = null] = rules
  return {
    ...nameOf(data),
    filter: rules.length > 1 ? { type: 'and', rules } : first,
    re_entry: data.re_entry ?? (data.kind === 'email_event' ? ONCE_FOR_EACH_STATUS : null),
    ...(data.kind === 'schedule' ? { schedule: scheduleOf(data) } : {}),
  }
}

export const trigger = defineNode({
  type: 'trigger',
  summary:
    'Where executions begin: at an event or another change of the contact, at a time, or at a call of the API.',
  data,
  role: 'start',
  compared: ['from', 'to'],
  handles: always('default'),
  handleTexts: { default: 'Always, at once' },
  waits: never,
  check,
  conditions,
  names: ({ audience_id, segment_id }) => ({
    audienceIds: [audience_id],
    segmentIds: [segment_id],
  }),
  entry,
  enter: (data) => ({
    handle: 'default',
    why: data.kind === 'event' ? data.event_name : data.kind,
  }),
})
