// The application behind a real listener, on a free port.
import type { AddressInfo } from 'node:net'
import { type AnswerRules, answerRules } from '../../api/http/answers.ts'
import { createApp } from '../../api/http/app.ts'
import { type BodyRules, bodyRules } from '../../api/http/bodies/rules.ts'
import { createHttpServer, type ServerRules, serverRules } from '../../api/http/server.ts'
import type { TestApi } from './api.ts'

/** Listens with other numbers than the service has. The caller closes it. */
export async function listen(
  { deps }: Pick<TestApi, 'deps'>,
  rules: { bodies?: Partial<BodyRules & AnswerRules>; server?: Partial<ServerRules> } = {},
) {
  const app = createApp(deps, { ...bodyRules, ...answerRules, ...rules.bodies })
  const server = createHttpServer(app.fetch, { rules: { ...serverRules, ...rules.server } })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { server, port, url: `http://127.0.0.1:${port}`, close }
}
