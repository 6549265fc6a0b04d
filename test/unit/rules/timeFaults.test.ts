// Faults in the data of nodes that choose times and ways: windows, moments, splits and filters.
import { expect, test } from 'vitest'
import { codesOf, designAround } from './builders.ts'
import { faults } from './faults.ts'

const rule = { type: 'rule', field: 'event.a', operator: 'exists' }

const window = { days: ['mon'], start: '09:00', end: '17:00' }

faults(
  'time_window',
  ['default'],
  [
    ['nothing', {}, ['days missing_value', 'start missing_value', 'end missing_value']],
    ['no day', { ...window, days: [] }, ['days missing_value']],
    ['days as text', { ...window, days: 'mon' }, ['days bad_value']],
    ['a long name', { ...window, days: ['mon', 'tuesday'] }, ['days.1 bad_value']],
    ['midnight as 24:00', { ...window, end: '24:00' }, ['end bad_value']],
    ['an hour alone', { ...window, start: 9 }, ['start bad_value']],
    ['one digit', { ...window, start: '9:00' }, ['start bad_value']],
    ['no zone', { ...window, timezone: 'Berlin' }, ['timezone bad_value']],
    ['an offset', { ...window, timezone: '+02:00' }, ['timezone bad_value']],
    [
      'the contact twice',
      { ...window, fallback_timezone: 'contact' },
      ['fallback_timezone bad_value'],
    ],
    ['all of it', { ...window, timezone: 'contact', fallback_timezone: 'Asia/Kolkata' }, []],
  ],
)

faults(
  'wait_until',
  ['default'],
  [
    ['neither', {}, ['at missing_value']],
    ['both', { at: 5, property_path: 'a' }, ['at bad_value']],
    ['no date', { at: 'tomorrow' }, ['at bad_value']],
    ['no day of the calendar', { at: '2026-02-29' }, ['at bad_value']],
    ['a year of five digits', { at: 253_402_300_800_000 }, ['at bad_value']],
    ['no path', { property_path: 'a..b' }, ['property_path bad_value']],
    ['a path of many', { property_path: 'a[]' }, ['property_path bad_value']],
    ['half a ms', { at: 5, offset_ms: -0.5 }, ['offset_ms bad_value']],
    ['an offset of over 100 years', { at: 5, offset_ms: -3.2e12 }, ['offset_ms bad_value']],
    ['a time of 25 hours', { at: 5, time_of_day: '25:00' }, ['time_of_day bad_value']],
    ['no zone', { at: 5, timezone: 'Mars/Olympus' }, ['timezone bad_value']],
    ['an unknown if_past', { at: 5, if_past: 'wait' }, ['if_past bad_value']],
    [
      'all of it',
      {
        property_path: 'properties.trial.ends',
        offset_ms: -86_400_000,
        time_of_day: '00:00',
        timezone: 'europe/berlin',
        if_past: 'next_day',
      },
      [],
    ],
  ],
)

const oneWay = [{ id: 'a', weight: 1 }]

faults(
  'split',
  ['a'],
  [
    ['an unknown sticky', { variants: oneWay, sticky: 'workflow' }, ['sticky bad_value']],
    [
      'weights of nothing, below and of text',
      {
        variants: [
          { id: 'a', weight: 0 },
          { id: 'a', weight: -1 },
          { id: 'a', weight: '1' },
        ],
      },
      [
        'variants.0.weight bad_value',
        'variants.1.weight bad_value',
        'variants.1.id duplicate_id',
        'variants.2.weight bad_value',
        'variants.2.id duplicate_id',
      ],
    ],
    ['a variant as text', { variants: [...oneWay, 'b'] }, ['variants.1 bad_value']],
    [
      'as many as allowed and one',
      { variants: Array.from({ length: 51 }, () => ({ id: 'a', weight: 1 })) },
      ['variants too_many'],
    ],
  ],
)

test.each<[string, object, string]>([
  ['none', { variants: [] }, 'variants missing_value'],
  ['an object', { variants: {} }, 'variants missing_value'],
  ['nothing', {}, 'variants missing_value'],
  ['no id', { variants: [{ weight: 1 }] }, 'variants.0.id bad_id'],
])('a split with %s, which has no ways', (_name, data, expected) => {
  expect(codesOf(designAround('split', data))).toEqual([
    `nodes.1.data.${expected}`,
    'nodes.2 unreachable_node',
  ])
})

faults(
  'filter',
  ['default'],
  [
    ['none', {}, ['condition empty_condition']],
    [
      'the fields of a wait',
      { condition: { ...rule, field: 'trigger.a' } },
      ['condition.field unknown_field'],
    ],
  ],
)
