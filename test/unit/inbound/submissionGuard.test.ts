// The limits of clients that submit mail: which socket a session has, and for how long.
import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { createGuard } from '../../../inbound/submission/guard.ts'

test('a stranger is closed in time, though their connection to the other listener has come from the same port', async () => {
  const guard = createGuard({ stranger_ms: 20, message_ms: 1_000 })
  const client = { remoteAddress: '192.0.2.1', remotePort: 50_000 }
  const socketOf = (localPort: number) => {
    const socket = Object.assign(new EventEmitter(), { ...client, localPort })
    return Object.assign(socket, { destroy: () => void socket.emit('destroyed') })
  }
  const withTls = socketOf(465)
  const other = socketOf(587)
  // Its handshake is not over, so there is no session yet.
  guard.onSocket(withTls as unknown as Socket, null)
  guard.onSocket(other as unknown as Socket, null)
  other.emit('close')
  guard.onConnect({ id: 'a', secure: true, localPort: 465, ...client })
  await once(withTls, 'destroyed')
  expect(guard.connections()).toBe(1)
})

test('the socket of a session that has gone on over TLS is forgotten at its end', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const guard = createGuard({ stranger_ms: 60_000, message_ms: 60_000 })
  const session = { remoteAddress: '192.0.2.1', remotePort: 50_000, localPort: 587 }
  const serve = (): WeakRef<EventEmitter> => {
    const socket = Object.assign(new EventEmitter(), { ...session, destroy: () => {} })
    guard.onSocket(socket as unknown as Socket, null)
    guard.onConnect({ id: 'a', secure: true, ...session })
    // As the library does at STARTTLS: nobody hears of its end any more.
    socket.removeAllListeners()
    guard.onClose({ id: 'a' })
    return new WeakRef(socket)
  }
  const served = serve()
  await turn()
  collect()
  expect(served.deref()).toBeUndefined()
})
