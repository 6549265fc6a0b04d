// The interpreter at send_email: sent, skipped, suppressed, failed, guarded.
import { describe, expect, test } from 'vitest'
import type { Condition } from '../../../rules/conditions/types.ts'
import type { Design, Node } from '../../../rules/design/types.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { MailContent, SendOutcome } from '../../../rules/interpreterTypes.ts'
import type { SendEmailData } from '../../../rules/nodes/sendEmail.ts'
import { factsOf } from './builders.ts'
import { designOf, ended, exists, failed, mail, runOne, sending, start } from './runners.ts'

describe('send_email', () => {
  const node = (data: SendEmailData = mail): Node => ({ id: 'n', type: 'send_email', data })
  const all = ['default', 'skipped', 'failed']
  const skipped: SendOutcome = { kind: 'skipped', why: 'unsubscribed' }
  const suppressed: SendOutcome = { kind: 'suppressed' }
  const broken: SendOutcome = { kind: 'failed', why: 'no subject' }
  test.each<[string, SendEmailData, string[], SendOutcome, object, string | null]>([
    ['sent', mail, all, { kind: 'sent' }, ended('default'), null],
    ['skipped', mail, all, skipped, ended('skipped'), 'unsubscribed'],
    ['skipped, unwired', mail, ['default'], skipped, ended('default'), 'unsubscribed'],
    ['suppressed', mail, all, suppressed, ended('skipped'), 'suppressed'],
    [
      'suppressed: skip',
      { ...mail, on_suppressed: 'skip' },
      ['default'],
      suppressed,
      ended('default'),
      'suppressed',
    ],
    [
      'suppressed: exit',
      { ...mail, on_suppressed: 'exit' },
      all,
      suppressed,
      ended('suppressed'),
      'suppressed',
    ],
    [
      'skipped for else: exit',
      { ...mail, on_suppressed: 'exit' },
      all,
      skipped,
      ended('skipped'),
      'unsubscribed',
    ],
    [
      'suppressed: fail',
      { ...mail, on_suppressed: 'fail' },
      ['default'],
      suppressed,
      failed('n: suppressed'),
      'suppressed',
    ],
    ['failed', mail, all, broken, ended('failed'), 'no subject'],
    ['failed, unwired', mail, ['default'], broken, failed('n: no subject'), 'no subject'],
    ['guarded', { ...mail, guard: exists }, all, { kind: 'sent' }, ended('skipped'), 'guard'],
    ['nothing wired', mail, [], { kind: 'sent' }, ended('completed'), null],
  ])('%s', (_name, data, handles, outcome, next, why) => {
    const result = runOne(node(data), handles, factsOf(), sending(outcome))
    expect(result.next).toEqual(next)
    expect(result.steps[1]?.why).toBe(why)
  })
  test('a false guard sends no email', () => {
    const tools = sending()
    runOne(node({ ...mail, guard: exists }), ['default'], factsOf(), tools)
    expect(tools.sent).toEqual([])
    runOne(node({ ...mail, guard: exists }), ['default'], factsOf({ event: { a: 1 } }), tools)
    expect(tools.sent).toEqual(['n'])
  })
  test('on_step_failure continue goes on', () => {
    const design = designOf([node(), { id: 'x', type: 'exit', data: {} }], 't>n', 'n>x')
    const lenient: Design = { ...design, settings: { on_step_failure: 'continue' } }
    expect(walkSegment(lenient, start, factsOf(), sending(broken)).next).toEqual(ended('completed'))
    expect(walkSegment(design, start, factsOf(), sending(broken)).next).toEqual(
      failed('n: no subject'),
    )
  })
  test('emails of the same segment count as sent', () => {
    const condition: Condition = { type: 'email_activity', node_id: 'n', status: 'sent' }
    const design = designOf(
      [node(), { id: 'c', type: 'condition', data: { condition } }],
      't>n',
      'n>c',
    )
    expect(walkSegment(design, start, factsOf(), sending()).steps[2]?.handle).toBe('true')
    expect(walkSegment(design, start, factsOf(), sending(skipped)).steps[2]?.handle).toBe('false')
  })
  const countOfSent = (operator: 'lt' | 'gte'): Condition => ({
    type: 'event_count',
    event_name: 'email.sent',
    operator,
    value: 1,
    within_ms: 60_000,
  })
  const noneSent = factsOf({ eventTimes: { 'email.sent': [] } })
  test('of two sends in one segment that ask for no mail lately the second is skipped', () => {
    const guarded = { ...mail, guard: countOfSent('lt') }
    const second: Node = { id: 'm', type: 'send_email', data: guarded }
    const design = designOf([node(guarded), second], 't>n', 'n>m')
    const tools = sending()
    const { steps } = walkSegment(design, start, noneSent, tools)
    expect(tools.sent).toEqual(['n'])
    expect(steps[2]?.why).toBe('guard')
    const unsent = sending(skipped)
    walkSegment(design, start, noneSent, unsent)
    expect(unsent.sent).toEqual(['n', 'm'])
  })
  test('a goal at email.sent is reached by the mail of the same segment, and by none to the team', () => {
    const goal: Node = { id: 'g', type: 'goal', data: { event_name: 'email.sent' } }
    const pause: Node = { id: 'p', type: 'delay', data: { duration: 'P1D' } }
    const stepsAfter = (data: SendEmailData) => {
      const design = designOf([node(data), pause, goal], 't>n', 'n>p')
      const { steps } = walkSegment(design, start, factsOf(), sending())
      return steps.map(({ nodeId }) => nodeId)
    }
    expect(stepsAfter(mail)).toEqual(['t', 'n', 'p', 'g'])
    expect(stepsAfter({ ...mail, to: 'sales@demo.test' })).toEqual(['t', 'n', 'p'])
  })
  test('mail to the team is none that the contact was sent', () => {
    const condition: Condition = { type: 'email_activity', node_id: 'any', status: 'sent' }
    const check: Node = { id: 'c', type: 'condition', data: { condition } }
    const handleAfter = (data: SendEmailData) => {
      const design = designOf([node(data), check], 't>n', 'n>c')
      return walkSegment(design, start, factsOf(), sending()).steps[2]?.handle
    }
    const counts: Node = { id: 'c', type: 'condition', data: { condition: countOfSent('gte') } }
    const countedAfter = (data: SendEmailData) => {
      const design = designOf([node(data), counts], 't>n', 'n>c')
      return walkSegment(design, start, noneSent, sending()).steps[2]?.handle
    }
    expect(countedAfter({ ...mail, to: 'sales@demo.test' })).toBe('false')
    expect(countedAfter({ ...mail, cc: 'sales@demo.test' })).toBe('true')
    expect(handleAfter({ ...mail, to: 'sales@demo.test' })).toBe('false')
    expect(handleAfter({ ...mail, to: ['sales@demo.test'], category: 'marketing' })).toBe('false')
    expect(handleAfter({ ...mail, cc: 'sales@demo.test' })).toBe('true')
    expect(handleAfter({ ...mail, to: '' })).toBe('true')
  })
  test('empty texts count as missing', () => {
    const given: MailContent[] = []
    const tools = {
      sendEmail(_nodeId: string, data: MailContent): SendOutcome {
        given.push(data)
        return { kind: 'sent' }
      },
    }
    const design = designOf([node({ template_id: 'welcome', from: '', html: '' })], 't>n')
    walkSegment(design, start, factsOf(), tools)
    expect(given).toEqual([mail])
  })
})
