// Valid designs, and faults of triggers and settings.
import { describe, expect, test } from 'vitest'
import { validateDesign } from '../../../rules/design/validate.ts'
import { codesOf, designAround, looseDesign, welcomeContext, welcomeDesign } from './builders.ts'

type Loose = { [key: string]: unknown }
const rule = { type: 'rule', field: 'event.a', operator: 'exists' }
const inline = { subject: 'Hi', html: '<p>' }

describe('valid designs', () => {
  test('the welcome series', () => {
    expect(validateDesign(welcomeDesign(), welcomeContext)).toEqual([])
  })
  test.each<[string, Loose]>([
    ['optional handles unwired', designAround('send_email', inline, 'default')],
    ['optional handles wired', designAround('send_email', inline, 'default', 'skipped', 'failed')],
    [
      'a template that has its subject here',
      designAround(
        'send_email',
        { template_id: 'untitled', subject: 'S', from: 'a@demo.test' },
        'default',
      ),
    ],
    ['text alone', designAround('send_email', { subject: 'S', text: 'T', html: '' }, 'default')],
    ['a delay in ms', designAround('delay', { ms: 1000, jitter_ms: 5 }, 'default')],
    ['a wait for ever', designAround('wait_for_event', { event_name: 'email.opened' }, 'received')],
    [
      'a wait with all',
      designAround(
        'wait_for_event',
        {
          event_name: 'a',
          filter: { ...rule, field: 'trigger.x' },
          match: [{ event_path: 'a.b', equals_path: 'contact.email' }],
          timeout: 'PT1H',
          lookback_ms: 10,
        },
        'received',
        'timeout',
      ),
    ],
    ['condition', designAround('condition', { condition: rule }, 'true', 'false')],
    ['branch', designAround('branch', { branches: [{ id: 'a', condition: rule }] }, 'a', 'else')],
    [
      'update',
      designAround(
        'update_contact',
        { set: { a: { var: 'event.a' }, var: 'plain' }, unset: ['b.c'], increment: { n: -1 } },
        'default',
      ),
    ],
    [
      'an exit in the middle',
      {
        ...designAround('exit', { outcome: 'done' }),
        nodes: [
          { id: 't', type: 'trigger', data: { kind: 'manual' } },
          { id: 'n', type: 'exit', data: {} },
        ],
      },
    ],
    [
      'unknown keys in data',
      designAround('delay', { duration: 'P1D', label: 'One day' }, 'default'),
    ],
    [
      'settings',
      {
        ...designAround('delay', { duration: 'P1D' }, 'default'),
        settings: {
          on_unsubscribe: 'skip_sends',
          on_step_failure: 'continue',
          on_pause: 'hold',
          timezone: 'Europe/Berlin',
        },
      },
    ],
  ])('%s', (_name, design) => {
    expect(codesOf(design)).toEqual([])
  })
  test('a note needs no edge', () => {
    const design = looseDesign()
    design.nodes.push({ id: 'memo', type: 'note', data: { text: 'hello' } })
    expect(codesOf(design)).toEqual([])
  })
  test('a null handle is the default one', () => {
    const design = looseDesign()
    for (const edge of design.edges) edge['sourceHandle'] ??= null
    expect(codesOf(design)).toEqual([])
  })
})

describe('triggers and settings', () => {
  test.each<[string, unknown, string]>([
    ['no kind', {}, 'nodes.0.data.kind unsupported_trigger_kind'],
    ['a kind that there is not', { kind: 'webhook' }, 'nodes.0.data.kind unsupported_trigger_kind'],
    ['no event name', { kind: 'event' }, 'nodes.0.data.event_name bad_event_name'],
    [
      'a bad filter',
      { kind: 'event', event_name: 'a', filter: { ...rule, field: 'trigger.x' } },
      'nodes.0.data.filter.field unknown_field',
    ],
    [
      'an unknown re-entry',
      { kind: 'event', event_name: 'a', re_entry: { mode: 'twice' } },
      'nodes.0.data.re_entry.mode bad_value',
    ],
    [
      'a re-entry as text',
      { kind: 'event', event_name: 'a', re_entry: 'once' },
      'nodes.0.data.re_entry bad_value',
    ],
    [
      'no interval',
      { kind: 'event', event_name: 'a', re_entry: { mode: 'interval' } },
      'nodes.0.data.re_entry.min_interval_ms missing_value',
    ],
    [
      'many keys',
      { kind: 'event', event_name: 'a', re_entry: { mode: 'once', key_path: 'items[].id' } },
      'nodes.0.data.re_entry.key_path unknown_field',
    ],
  ])('a trigger with %s', (_name, data, expected) => {
    const design = looseDesign()
    design.nodes[0] = { id: 'start', type: 'trigger', data }
    expect(codesOf(design)).toEqual([expected])
  })
  test('a trigger may have a reserved event name and a re-entry rule', () => {
    const design = looseDesign()
    const data = {
      kind: 'event',
      event_name: 'email.clicked',
      filter: rule,
      re_entry: { mode: 'interval', min_interval_ms: 60_000, key_path: 'order.id' },
    }
    design.nodes[0] = { id: 'start', type: 'trigger', data }
    expect(codesOf(design)).toEqual([])
  })

  test.each<[string, Loose, string]>([
    ['an unknown key', { send_window: {} }, 'settings.send_window unknown_setting'],
    ['a bad on_unsubscribe', { on_unsubscribe: 'x' }, 'settings.on_unsubscribe bad_value'],
    ['a bad on_step_failure', { on_step_failure: 1 }, 'settings.on_step_failure bad_value'],
    ['a bad on_pause', { on_pause: 'stop' }, 'settings.on_pause bad_value'],
    ['a bad sender', { default_from: 'x' }, 'settings.default_from bad_address'],
    ['no time zone', { timezone: 'Berlin' }, 'settings.timezone bad_value'],
    ["the contact's time zone", { timezone: 'contact' }, 'settings.timezone bad_value'],
    [
      'a foreign sender',
      { default_from: 'X <a@evil.test>' },
      'settings.default_from domain_not_verified',
    ],
  ])('settings with %s', (_name, settings, expected) => {
    const design = looseDesign()
    design['settings'] = { default_from: 'a@demo.test', ...settings }
    expect(codesOf(design)).toEqual([expected])
  })

  test('inline Liquid is checked if the context can parse it', () => {
    const design = designAround('send_email', { ...inline, subject: '{{' }, 'default')
    const context = {
      ...welcomeContext,
      liquidProblem: (text: string) => (text === '{{' ? 'not closed' : null),
    }
    expect(codesOf(design, context)).toEqual([`nodes.1.data.subject bad_template_text`])
  })
  test('an audience must exist', () => {
    const condition = { type: 'audience', audience_id: 'aud_2', member: true }
    const design = designAround('condition', { condition }, 'true', 'false')
    expect(codesOf(design)).toEqual([`nodes.1.data.condition.audience_id unknown_audience`])
  })
  test('a segment must exist, of a condition and of a trigger', () => {
    const condition = { type: 'segment', segment_id: 'seg_2', member: true }
    const design = designAround('condition', { condition }, 'true', 'false')
    expect(codesOf(design)).toEqual([`nodes.1.data.condition.segment_id unknown_segment`])
    for (const kind of ['segment_entered', 'segment_left']) {
      const problemsAt = (segment_id: unknown) => {
        const { nodes, ...rest } = designAround('delay', { ms: 5 }, 'default')
        const [, ...others] = nodes as object[]
        const begins = { id: 't', type: 'trigger', data: { kind, segment_id } }
        return codesOf({ ...rest, nodes: [begins, ...others] })
      }
      expect(problemsAt('seg_2')).toEqual(['nodes.0.data.segment_id unknown_segment'])
      expect(problemsAt(7)).toEqual(['nodes.0.data.segment_id bad_value'])
      expect(problemsAt('seg_1')).toEqual([])
    }
  })
})
