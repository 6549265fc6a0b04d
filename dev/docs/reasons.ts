// Tables of the texts that an execution gives: a step's `why`, and the `error` of one that failed.
// Long because it is one table with a row for each text.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../../rules/limits.ts'
import { markdownTable } from './markdown.ts'

const TOP = join(import.meta.dirname, '..', '..')

interface Reason {
  /** As the reader sees it. */
  text: string
  /** Where the code has it, and the part of it that stands there: a text that has changed is an error here. */
  from: [file: string, part: string]
  /** The kind of node, or what there is to do. */
  more: string
  meaning: string
}

const EMAIL = '`send_email`'
const SEND = 'rules/nodes/sendEmail.ts'
const MAIL = 'activities/segment/mail.ts'
const EFFECTS = 'activities/segment/effects.ts'
const START = 'commands/executions/startFromNode.ts'
const PROPERTIES = 'rules/properties/update.ts'
const HTTP = '`http_request`'

const whys: Reason[] = [
  {
    text: 'the name of the event, or the kind of the trigger',
    from: ['rules/nodes/trigger.ts', "data.kind === 'event' ? data.event_name : data.kind"],
    more: '`trigger`',
    meaning: 'What started the execution',
  },
  {
    text: '`properties.plan eq "pro" is true`',
    from: ['rules/conditions/evaluate.ts', 'described(condition)} is '],
    more: '`condition`, `filter`, `wait_for_condition`',
    meaning: 'The condition, and whether it held',
  },
  {
    text: 'the label or id of a branch',
    from: ['rules/nodes/branch.ts', 'found.label || found.id'],
    more: '`branch`',
    meaning: 'The branch that was taken',
  },
  {
    text: '`no branch matched`',
    from: ['rules/nodes/branch.ts', 'no branch matched'],
    more: '`branch`',
    meaning: '`else` was taken',
  },
  {
    text: '`no time to wait`',
    from: ['rules/nodes/delay.ts', 'no time to wait'],
    more: '`delay`',
    meaning: 'The delay was 0, so there was no wait',
  },
  {
    text: '`came before the wait`',
    from: ['activities/segment/walk.ts', 'came before the wait'],
    more: '`wait_for_event`',
    meaning: 'An event within `lookback_ms` ended the wait at once',
  },
  {
    text: '`past`',
    from: ['rules/nodes/waitUntil.ts', "why: 'past'"],
    more: '`wait_until`',
    meaning: 'The moment was over when the execution came to it; `if_past` decided what followed',
  },
  {
    text: '`no_date`',
    from: ['rules/nodes/waitUntil.ts', "'no_date'"],
    more: '`wait_until`',
    meaning:
      'The property is missing, or holds no date. Without an edge from `past` the step failed',
  },
  {
    text: '`goal`',
    from: ['rules/interpreter.ts', "by.kind === 'goal' ? 'goal'"],
    more: 'a wait, `goal`',
    meaning: 'A goal was reached: the execution left the wait, and went on at the goal',
  },
  {
    text: '`exited`, `max_duration`',
    from: ['rules/interrupts.ts', "outcome: 'exited'"],
    more: 'a wait',
    meaning: 'An exit condition held, or its longest duration was over: the execution ended',
  },
  {
    text: '`held`',
    from: ['rules/interpreter.ts', "HELD = 'held'"],
    more: 'any',
    meaning:
      'The workflow is not active and its design says `on_pause: hold`: the node was not entered. Once it is, its own reason stands here',
  },
  {
    text: '`workflow` or `workspace`',
    from: ['rules/nodes/unsubscribe.ts', "['workflow', 'workspace']"],
    more: '`unsubscribe`',
    meaning: 'What the contact was unsubscribed from',
  },
  {
    text: 'the name of an event',
    from: [EFFECTS, 'why: eventName'],
    more: '`send_event`',
    meaning: 'The event that was recorded',
  },
  {
    text: '`re_entry_refused`',
    from: [START, "'re_entry_refused'"],
    more: '`start_workflow`',
    meaning: 'Not started: the `re_entry` of that workflow keeps the contact out',
  },
  {
    text: '`unsubscribed`',
    from: [START, "'unsubscribed'"],
    more: '`start_workflow`',
    meaning: 'Not started: the contact has left that workflow, or all of them',
  },
  {
    text: '`the workflow is not active`, `there is no such workflow`',
    from: [START, 'the workflow is not active'],
    more: '`start_workflow`',
    meaning: 'Not started: it is a draft, paused or archived',
  },
  {
    text: '`entered too often within an hour`',
    from: [START, 'entered too often within an hour'],
    more: '`start_workflow`',
    meaning: `Not started: the contact has entered that workflow ${limits.entriesPerHourMax} times within the last hour`,
  },
  {
    text: '`unchanged`',
    from: ['commands/audiences/byNode.ts', "return 'unchanged'"],
    more: '`add_to_audience`, `remove_from_audience`',
    meaning: 'The contact was in the audience already, or was not in it',
  },
  {
    text: '`unknown_audience`',
    from: ['commands/audiences/byNode.ts', "return 'unknown_audience'"],
    more: '`add_to_audience`, `remove_from_audience`',
    meaning: 'Failed: the audience was deleted since the design became active',
  },
  {
    text: '`2 cancelled`',
    from: [EFFECTS, ' cancelled`'],
    more: '`cancel_workflow`',
    meaning:
      'How many executions were cancelled, this one included where it names its own workflow',
  },
  {
    text: '`chain_too_deep`',
    from: [EFFECTS, "'chain_too_deep'"],
    more: 'nodes that do something for others, `update_contact`',
    meaning: `Failed: ${limits.executionChainMax} effects of executions have led to it, one after the other`,
  },
  {
    text: '`guard`',
    from: [SEND, "skip('guard'"],
    more: EMAIL,
    meaning: 'Skipped: the `guard` did not hold',
  },
  {
    text: '`frequency_cap`',
    from: [SEND, "'frequency_cap'"],
    more: EMAIL,
    meaning:
      'It would be more marketing mail than `settings.frequency_cap` allows: the mail waited until it fitted, or was skipped',
  },
  {
    text: '`too_many_mails`',
    from: [MAIL, "'too_many_mails'"],
    more: EMAIL,
    meaning: `Failed: the execution has sent ${limits.executionMailsPerDayMax} mails within the last 24 hours`,
  },
  {
    text: '`unsubscribed`',
    from: [MAIL, "'unsubscribed'"],
    more: EMAIL,
    meaning: 'Skipped: a marketing mail, and the contact has left this workflow',
  },
  {
    text: '`suppressed`',
    from: ['rules/interpreterTypes.ts', "'suppressed'"],
    more: EMAIL,
    meaning: 'The address is on the suppression list; `on_suppressed` decided what followed',
  },
  {
    text: '`template T is not published`',
    from: [MAIL, 'is not published'],
    more: EMAIL,
    meaning: 'Failed: the template was deleted since the design became active',
  },
  {
    text: '`no from address: the node, its template and default_from name none`',
    from: [MAIL, 'no from address: the node'],
    more: EMAIL,
    meaning:
      'Failed: the template that named the sender was changed since the design became active',
  },
  {
    text: '`no domain of this workspace for the from address`',
    from: [MAIL, 'no domain of this workspace for'],
    more: EMAIL,
    meaning: 'Failed: the domain of that field (`from`, `to` or `cc`) was deleted since',
  },
  {
    text: '`domain acme.com is not verified`',
    from: [MAIL, 'is not verified'],
    more: EMAIL,
    meaning:
      'Failed: the domain of the sender, or of an address of the team, is not verified any more',
  },
  {
    text: '`template: html: …`',
    from: [MAIL, 'template: '],
    more: `${EMAIL}, \`send_event\`, \`start_workflow\`, ${HTTP}`,
    meaning: 'Failed: the Liquid of that part could not be rendered; the rest says why',
  },
  {
    text: '`properties …`',
    from: ['rules/nodes/madeProperties.ts', 'why: `properties ${'],
    more: '`send_event`, `start_workflow`',
    meaning: 'Failed: the properties that it made would be too large or too deep',
  },
  {
    text: '`200`, `503 after 5 tries`, `private_address` and others',
    from: ['rules/callOutcome.ts', ' tries`'],
    more: HTTP,
    meaning: 'What came of the request: [each of them](#http_request)',
  },
  {
    text: '`there is no secrets.CRM_KEY`',
    from: [MAIL, 'why: `there is no ${'],
    more: HTTP,
    meaning:
      'No request was made: the secret was deleted since the design became active. Store it again',
  },
  {
    text: '`there is no such secret`',
    from: [MAIL, "'such secret'"],
    more: HTTP,
    meaning:
      'No request was made: its text reads a secret by a name that a value gave, and there is none',
  },
  {
    text: '`a value makes the path lead elsewhere`',
    from: ['rules/nodes/httpRequest.ts', 'a value makes the path lead elsewhere'],
    more: HTTP,
    meaning: 'No request was made: a value made `.` or `..` of a part of the path',
  },
  {
    text: '`event.plan is missing`',
    from: [PROPERTIES, ' is missing`'],
    more: '`update_contact`',
    meaning: 'The field of a `{"var"}` is not there; the property was left as it was',
  },
  {
    text: '`visits is not a number`',
    from: [PROPERTIES, ' is not a number`'],
    more: '`update_contact`',
    meaning:
      'The property to increment is not a number, or the sum would be too large for one; it was left as it was',
  },
  {
    text: '`properties are unchanged: …`',
    from: [PROPERTIES, 'properties are unchanged: '],
    more: '`update_contact`',
    meaning: 'The result would be too large or too deep; nothing was changed',
  },
]

const errors: Reason[] = [
  {
    text: '`NODE: WHY`, as `offer: domain acme.com is not verified`',
    from: ['rules/nodes/moves.ts', 'place.nodeId}: '],
    meaning: 'The step at that node failed, for the reason that its `why` says too',
    more:
      'Mend the cause: publish the template, verify the domain, correct the Liquid. To go on after such a failure, ' +
      'draw an edge from `failed`, or set `on_step_failure` to `continue`',
  },
  {
    text: '`loop_without_time: NODE was entered twice without a wait between`',
    from: ['rules/interpreterErrors.ts', 'was entered twice without a wait between'],
    meaning:
      'The execution went round a loop whose waits were over at once. What its nodes did since the last wait was taken back',
    more: 'Put a `delay` into the loop',
  },
  {
    text: `\`node NODE: the worker ended ${limits.suspectDeathsMax} times while it ran this node alone\``,
    from: ['activities/segment/giveUp.ts', 'times while it ran this node alone'],
    meaning: 'What that node does with the data of this contact is too much for a worker',
    more: 'Make the node simpler, or the properties that it reads smaller',
  },
  {
    text: '`what the nodes after NODE write cannot be stored (SQLSTATE 22003)`',
    from: ['activities/segment/refused.ts', 'write cannot be stored (SQLSTATE '],
    meaning: 'Postgres refused it each time. Nothing is kept of what these nodes did',
    more: 'Look at the values that these nodes write; the log of the worker has the words of Postgres',
  },
  {
    text: '`The execution was ended from outside`',
    from: ['api/executions/schemas.ts', 'The execution was ended from outside'],
    meaning: 'Its run failed in Temporal, and no step says why',
    more: "Look at the run in the Temporal Web UI and at the worker's log",
  },
  {
    text: '`the execution failed in Temporal`',
    from: ['worker/sweeper.ts', 'the execution failed in Temporal'],
    meaning: 'The same, some seconds later',
    more: 'The same',
  },
]

function checked({ text, from: [file, part] }: Reason): string {
  if (readFileSync(join(TOP, file), 'utf8').includes(part)) return text
  throw new Error(`${file} does not say "${part}" any more: correct dev/docs/reasons.ts`)
}

export const reasonTables = {
  'step-reasons': () =>
    markdownTable(
      ['`why`', 'of', 'what it means'],
      whys.map((row) => [checked(row), row.more, row.meaning]),
    ),
  'execution-errors': () =>
    markdownTable(
      ['`error`', 'what happened', 'what to do'],
      errors.map((row) => [checked(row), row.meaning, row.more]),
    ),
}
