// Test addresses: what becomes of mail to each of them, at a domain to which no mail ever leaves. Pure.
import { addressDomain } from '../addresses.ts'

/** The local parts of test addresses. Each says what becomes of its mail. */
export const testNames = [
  'delivered',
  'bounced',
  'complained',
  'suppressed',
  'deferred',
  'opened',
  'clicked',
] as const

export type TestName = (typeof testNames)[number]

/** @param domain that of test addresses, in lower case */
export function isTestAddress(address: string, domain: string): boolean {
  return addressDomain(address).toLowerCase() === domain
}

/** Whether all of these, and at least one, are test addresses. */
export function areTestAddresses(addresses: readonly string[], domain: string): boolean {
  return addresses.length > 0 && addresses.every((address) => isTestAddress(address, domain))
}

/** What a test address asks for: its local part in lower case, without `+label`; null: no such thing. */
export function testNameOf(address: string): TestName | null {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  const [name] = local.split('+', 1)
  return testNames.find((one) => one === name) ?? null
}
