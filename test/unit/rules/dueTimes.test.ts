// Which time of a schedule is due now: after an outage, while members are still being started, and around the hour.
import { expect, test } from 'vitest'
import { type Due, dueTime, type Schedule } from '../../../rules/time/schedule.ts'

const at = (text: string) => Date.parse(`2026-03-02T${text}:00Z`)
const due = (text: string): Due => ({ kind: 'due', at: at(text) })
const next = (text: string): Due => ({ kind: 'next', at: at(text) })
const hourly: Schedule = { cron: '0 * * * *', timezone: 'UTC' }
const everyMinute: Schedule = { cron: '* * * * *', timezone: 'UTC' }
const twice: Schedule = { cron: '0 9,10 * * *', timezone: 'UTC' }
const once: Schedule = { at: '2026-03-02T09:00', timezone: 'UTC' }

test.each<[string, Schedule, string, string, string | null, Due | null]>([
  ['before its time', hourly, '08:10', '08:20', null, next('09:00')],
  ['at its time', hourly, '08:10', '09:00', null, due('09:00')],
  ['a time that is done is not due again', hourly, '09:00', '09:00', null, next('10:00')],
  ['of missed times the latest alone', everyMinute, '03:00', '09:30', null, due('09:30')],
  ['under an hour late', once, '08:00', '09:59', null, due('09:00')],
  ['an hour late', once, '08:00', '10:00', null, null],
  [
    'late times are left out',
    twice,
    '01:00',
    '11:00',
    null,
    { kind: 'next', at: at('09:00') + 86_400_000 },
  ],
  [
    'what came during the members of another has waited',
    twice,
    '09:00',
    '12:30',
    '09:00',
    due('10:00'),
  ],
  ['of what waited the latest alone', everyMinute, '05:00', '09:30', '05:00', due('09:30')],
  [
    'what was over before nothing was done has not waited',
    twice,
    '08:00',
    '12:30',
    '12:10',
    { kind: 'next', at: at('09:00') + 86_400_000 },
  ],
  ['once, and it is done', once, '09:00', '09:01', null, null],
  ['a day that never comes', { cron: '0 0 31 2 *', timezone: 'UTC' }, '00:00', '09:00', null, null],
])('%s', (_, schedule, after, now, waited, expected) => {
  const since = waited === null ? null : at(waited)
  expect(dueTime(schedule, at(after), at(now), since)).toEqual(expected)
})

test('a clock that goes back finds no time twice', () => {
  expect(dueTime(hourly, at('09:00'), at('08:59'))).toEqual(next('10:00'))
})

test('in the night that the clocks go forward, a time that they leave out is due after the gap', () => {
  const schedule = { cron: '30 2 * * *', timezone: 'Europe/Berlin' }
  const gap = Date.parse('2026-03-29T01:00:00Z')
  expect(dueTime(schedule, gap - 3_600_000, gap - 1)).toEqual({ kind: 'next', at: gap })
  expect(dueTime(schedule, gap - 3_600_000, gap)).toEqual({ kind: 'due', at: gap })
})
