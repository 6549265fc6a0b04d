// Every `code` that a problem of a design can carry, with what it means and what to do: a closed list.
import { limits, MEBIBYTE } from '../limits.ts'

const codes = {
  bad_address: 'Write one address, as `hello@acme.com` or `Acme <hello@acme.com>`.',
  bad_design: 'A design is an object with the arrays `nodes` and `edges`.',
  bad_duration: `Write an ISO 8601 duration, such as \`PT30M\`, \`P3D\` or \`P1M\`, of ${limits.durationYearsMax} years at most. A delay has either \`duration\` or \`ms\`.`,
  bad_edge: 'An edge is an object whose `source` and `target` are ids of nodes.',
  bad_event_name: `The name of an event has 1-${limits.eventNameCharsMax} letters, digits or \`. _ - : /\`.`,
  bad_id: `An id has 1-${limits.nodeIdCharsMax} letters, digits, \`_\` or \`-\`.`,
  bad_node: 'A node is an object with an `id`, a `type` and an object `data`.',
  bad_settings: '`settings` is an object.',
  bad_template_text:
    'The text is not valid Liquid. The message says what is wrong, in which line and column.',
  bad_value: 'The value is not one that the field takes. The message says which are.',
  condition_too_deep: `Conditions may nest ${limits.conditionDepthMax} levels deep. Join rules in one \`and\` or \`or\` instead.`,
  condition_too_large: `One condition may hold ${limits.conditionRulesMax} rules. Use \`in\` with a list for many values.`,
  content_missing: 'A mail without a template needs `html` or `text`.',
  domain_not_verified:
    'The sender belongs to a domain that may not send yet. Register it, publish its DNS records, or use another sender.',
  duplicate_edge: 'Only one edge leaves a node by the same handle. Remove the other one.',
  duplicate_id: 'Ids are unique among nodes, among edges, and among the branches of a node.',
  edge_into_note: 'A note never runs. Remove the edge.',
  edge_into_trigger: 'Executions begin at a trigger. Lead the edge to the node after it.',
  empty_condition: 'A condition is missing, or holds no rules.',
  from_missing:
    "Give the mail a `from`, use a template that has one, or set the design's `settings.default_from`.",
  loop_without_wait:
    'A loop without a wait would run for ever at once. Put a delay or a wait into it.',
  missing_value: 'A field is missing that this node needs. The message names it.',
  no_trigger: 'Add a node of type `trigger`: executions begin there.',
  not_json:
    'The design holds something that is not JSON. Send only objects, arrays, texts, numbers, true, false and null.',
  schedule_in_past:
    'The `at` of a schedule is over: nothing would ever start. Give it a time that is ahead. It is taken where the active version has the same times and audience at that node, and after a pause where that one says `on_pause: hold`, so that held executions can go on.',
  subject_missing: 'Give the mail a `subject`, or use a template that has one.',
  template_not_published: 'Mail is made from the published version. Publish the template first.',
  template_with_content: 'Use either `template_id`, or `html` and `text`.',
  too_deep: `The design is nested deeper than ${limits.jsonDepthMax} levels. Flatten what is nested.`,
  too_large: `The design is over ${limits.designBytesMax / 1024} KiB of JSON: keep long texts in templates. Or the filters of triggers, or the conditions of segments, of all active workflows would be over ${limits.metConditionsBytesMax / MEBIBYTE} MiB together (${limits.resumedConditionsBytesMax / MEBIBYTE} MiB where a paused workflow is taken up again): the message says which.`,
  too_many:
    'There are more of them than a design, a node or an answer may hold. The message says how many. Problems beyond those that are listed show after these are mended.',
  unknown_audience:
    'The workspace has no audience with that id. List them with `GET /v1/audiences`.',
  unknown_condition_type:
    'The `type` of a condition is `and`, `or`, `not`, `rule`, `event_count`, `email_activity`, `audience` or `segment`.',
  unknown_field: 'The name is not one that can be read at this place. The message says which can.',
  unknown_handle: 'The node has no such handle. The message lists those that it has.',
  unknown_node: 'No node of the design has that id, or it is of another type than is needed here.',
  unknown_node_type: 'There is no such type of node. The message lists those that there are.',
  unknown_operator: 'There is no such operator. The message lists those that there are.',
  unknown_secret:
    'The workspace has no secret of that name. Store it with `PUT /v1/automation/secrets/{name}`.',
  unknown_segment: 'The workspace has no segment with that id.',
  unknown_setting: 'There is no such setting. The message lists those that there are.',
  unknown_template:
    'The workspace has no template with that id or alias. List them with `GET /v1/templates`.',
  unknown_workflow:
    'The workspace has no workflow with that id, or it is archived. List them with `GET /v1/workflows`.',
  unreachable_node: 'No path from a trigger leads to the node. Connect it, or remove it.',
  unstorable_number: 'A number is too large to be kept. Write it as a text.',
  unstorable_text: 'A text holds a NUL character or half of a surrogate pair. Remove it.',
  unsupported_trigger_kind:
    'There is no such `kind` of trigger. The message lists those that there are.',
  unwired_handle:
    'An edge must leave the node by each handle that it needs. Draw the one that is missing.',
} as const satisfies Record<string, string>

export type ProblemCode = keyof typeof codes

/** What each code means and what to do: its line in docs/errors.md. */
export const problemCodes: Readonly<Record<ProblemCode, string>> = codes

/** The codes in order. */
export const problemCodeNames = Object.keys(codes) as ProblemCode[]
