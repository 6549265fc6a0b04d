// Which addresses are one client.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clientNetwork } from '../../../rules/mail/clientNetwork.ts'

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:0201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['', ''],
  ['a socket', 'a socket'],
])('%s is of %s', (address, client) => {
  expect(clientNetwork(address)).toBe(client)
})

test('addresses are one client if and only if their first 64 bits are the same', () => {
  const group = fc.nat({ max: 0xffff }).map((bits) => bits.toString(16))
  const groups = (count: number) => fc.array(group, { minLength: count, maxLength: count })
  // Another client than the one whose addresses are IPv4.
  const network = groups(4).filter((parts) => parts.some((part) => part !== '0'))
  fc.assert(
    fc.property(network, network, groups(4), groups(4), (one, other, here, there) => {
      const client = (parts: string[], host: string[]) =>
        clientNetwork([...parts, ...host].join(':'))
      expect(client(one, here)).toBe(client(one, there))
      expect(client(one, here) === client(other, here)).toBe(one.join() === other.join())
    }),
  )
})
