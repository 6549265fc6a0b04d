// Which addresses are test addresses, and what each asks for.
import { expect, test } from 'vitest'
import {
  areTestAddresses,
  isTestAddress,
  testNameOf,
  testNames,
} from '../../../rules/mail/testAddresses.ts'

const DOMAIN = 'simulator.test'

test.each([
  ['bounced@simulator.test', true],
  ['Bounced+Label@Simulator.TEST', true],
  ['anything@simulator.test', true],
  ['bounced@mail.simulator.test', false],
  ['bounced@simulator.test.example', false],
  ['bounced@notsimulator.test', false],
  ['bounced@xn--simulator-test.test', false],
  ['simulator.test@example.com', false],
])('%s: %s', (address, is) => {
  expect(isTestAddress(address, DOMAIN)).toBe(is)
})

test('all of several must be', () => {
  const [one, two] = ['opened@simulator.test', 'clicked+1@simulator.test']
  expect(areTestAddresses([one, two], DOMAIN)).toBe(true)
  expect(areTestAddresses([one, 'ada@example.com'], DOMAIN)).toBe(false)
  expect(areTestAddresses([], DOMAIN)).toBe(false)
})

test('a label and letter case change nothing; what is no name asks for nothing', () => {
  for (const name of testNames) {
    expect(testNameOf(`${name}@${DOMAIN}`)).toBe(name)
    expect(testNameOf(`${name.toUpperCase()}+a+b@${DOMAIN}`)).toBe(name)
  }
  for (const local of ['bounce', 'bounced.', 'bounced-1', '+bounced', 'constructor', '']) {
    expect(testNameOf(`${local}@${DOMAIN}`)).toBeNull()
  }
})
