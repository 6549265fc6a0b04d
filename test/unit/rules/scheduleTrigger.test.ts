// What is wrong with a trigger of the kind `schedule`, and what an active design has as its schedules.
import { expect, test } from 'vitest'
import { scheduleTriggers, triggerByHand } from '../../../rules/design/triggers.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import type { JsonObject } from '../../../rules/json.ts'

const NOW = Date.UTC(2026, 2, 1, 9)
const context = {
  templates: new Map(),
  verifiedDomains: new Set<string>(),
  audiences: new Set(['aud_1']),
  workflows: new Set<string>(),
}
const around = (data: JsonObject, settings: JsonObject = {}) => ({
  nodes: [
    { id: 't', type: 'trigger', data: { kind: 'schedule', audience_id: 'aud_1', ...data } },
    { id: 'x', type: 'exit', data: {} },
  ],
  edges: [{ id: 'e', source: 't', target: 'x' }],
  settings,
})
const problemsOf = (data: JsonObject, settings?: JsonObject, now?: number) =>
  validateDesign(around(data, settings), now === undefined ? context : { ...context, now }).map(
    ({ code, path, message }) => `${code} ${path.replace('nodes.0.data.', '')}: ${message}`,
  )

test.each<[string, JsonObject, string[]]>([
  ['a cron', { cron: '0 9 * * mon-fri' }, []],
  ['a moment ahead', { at: NOW + 1 }, []],
  ['a zone', { cron: '0 9 * * *', timezone: 'europe/berlin' }, []],
  [
    'neither at nor cron',
    {},
    ['missing_value at: exactly one of at and cron is required, not none'],
  ],
  [
    'both',
    { at: NOW + 1, cron: '0 9 * * *' },
    ['bad_value at: exactly one of at and cron is required, not both'],
  ],
  [
    'a moment that is now',
    { at: NOW },
    [`schedule_in_past at: at must be ahead, not ${NOW}, which is over`],
  ],
  [
    'a time that is over on the clocks of its zone',
    { at: '2026-03-01T09:30', timezone: 'Europe/Berlin' },
    ['schedule_in_past at: at must be ahead, not "2026-03-01T09:30", which is over'],
  ],
  ['a time that is ahead on the clocks of its zone', { at: '2026-03-01T09:30' }, []],
  [
    'a cron of six fields',
    { cron: '0 0 9 * * *' },
    ['bad_value cron: cron must have five fields, such as "0 9 * * mon-fri", not "0 0 9 * * *"'],
  ],
  [
    'a day that never comes',
    { cron: '0 9 31 2 *' },
    ['bad_value cron: cron must match some day of a calendar, not "0 9 31 2 *"'],
  ],
  [
    'an unknown audience',
    { cron: '0 9 * * *', audience_id: 'aud_2' },
    ['unknown_audience audience_id: audience_id: this workspace has no audience "aud_2"'],
  ],
])('%s', (_, data, expected) => {
  expect(problemsOf(data, {}, NOW)).toEqual(expected)
})

test('the zone of the settings counts where the trigger names none', () => {
  const data = { at: '2026-03-01T09:30' }
  expect(problemsOf(data, { timezone: 'Europe/Berlin' }, NOW)).toHaveLength(1)
  expect(problemsOf(data, { timezone: 'America/New_York' }, NOW)).toEqual([])
  const [found] = scheduleTriggers(around(data, { timezone: 'europe/berlin' }))
  expect(found?.schedule).toEqual({ ...data, timezone: 'Europe/Berlin' })
})

test('a moment that is over is taken where the version that was active has it at that node', () => {
  const at = '2026-03-01T09:30'
  const berlin = { timezone: 'Europe/Berlin' }
  const codesWith = (data: JsonObject, before: JsonObject, settings: JsonObject = {}) => {
    const schedules = scheduleTriggers(around(before, berlin))
    const problems = validateDesign(around(data, settings), {
      ...context,
      now: NOW,
      activeSchedules: schedules,
    })
    return problems.map(({ code }) => code)
  }
  const refused = ['schedule_in_past']
  expect(codesWith({ at }, { at }, berlin)).toEqual([])
  expect(codesWith({ at, timezone: 'europe/berlin' }, { at })).toEqual([])
  expect(codesWith({ at: '2026-03-01T09:31' }, { at }, berlin)).toEqual(refused)
  expect(codesWith({ at, timezone: 'Europe/Athens' }, { at })).toEqual(refused)
  expect(codesWith({ at }, { at, audience_id: 'aud_2' }, berlin)).toEqual(refused)
  expect(codesWith({ at }, { cron: '0 9 * * *' }, berlin)).toEqual(refused)
  const [one] = scheduleTriggers(around({ at }, berlin))
  const schedules = one ? [{ ...one, node_id: 'other' }] : []
  const elsewhere = validateDesign(around({ at }, berlin), {
    ...context,
    now: NOW,
    activeSchedules: schedules,
  })
  expect(elsewhere.map(({ code }) => code)).toEqual(refused)
})

test('a draft is not asked whether its time is over', () => {
  expect(problemsOf({ at: 0 })).toEqual([])
})

test('a start by hand begins at a manual trigger, and at a schedule only where there is no other', () => {
  const design = around({ cron: '0 9 * * *' })
  expect(triggerByHand(design)?.node_id).toBe('t')
  const manual = { id: 'm', type: 'trigger', data: { kind: 'manual' } }
  expect(triggerByHand({ ...design, nodes: [...design.nodes, manual] })?.node_id).toBe('m')
})
