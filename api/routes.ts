// Every resource and where it is mounted.
import type { OpenAPIHono } from '@hono/zod-openapi'
import { apiKeyRoutes } from './api-keys/routes.ts'
import { audienceContactRoutes } from './audiences/contactRoutes.ts'
import { audienceRoutes } from './audiences/routes.ts'
import { automationContactRoutes, missingContactEmail } from './contacts/routes.ts'
import { domainRoutes } from './domains/routes.ts'
import { emailAttemptRoutes } from './emails/attemptRoutes.ts'
import { emailRoutes } from './emails/routes.ts'
import { automationEventRoutes } from './events/routes.ts'
import { executionRoutes } from './executions/routes.ts'
import type { ApiDeps, ApiEnv } from './http/env.ts'
import { avatarRoutes } from './public/avatars.ts'
import { docsRoutes } from './public/docs.ts'
import { healthRoutes } from './public/health.ts'
import { trackingRoutes } from './public/tracking.ts'
import { unsubscribeRoutes } from './public/unsubscribe.ts'
import { suppressionRoutes } from './suppressions/routes.ts'
import { templateRoutes } from './templates/routes.ts'
import { workflowExecutionRoutes } from './workflows/executionRoutes.ts'
import { workflowRoutes } from './workflows/routes.ts'
import { workflowVersionRoutes } from './workflows/versionRoutes.ts'

/** Reached without a key. */
export function mountPublic(app: OpenAPIHono<ApiEnv>, deps: ApiDeps): void {
  app.route('/', healthRoutes(deps))
  app.route('/', docsRoutes())
  app.route('/', avatarRoutes(deps))
  app.route('/', unsubscribeRoutes(deps))
  app.route('/', trackingRoutes(deps))
}

export function mountV1(app: OpenAPIHono<ApiEnv>, deps: ApiDeps): void {
  app.route('/v1/api-keys', apiKeyRoutes(deps))
  app.route('/v1/emails', emailRoutes(deps))
  app.route('/v1/emails', emailAttemptRoutes(deps))
  app.route('/v1/templates', templateRoutes(deps))
  app.route('/v1/audiences', audienceRoutes(deps))
  app.route('/v1/audiences', audienceContactRoutes(deps))
  app.route('/v1/domains', domainRoutes(deps))
  app.route('/v1/suppressions', suppressionRoutes(deps))
  app.route('/v1/workflows', workflowRoutes(deps))
  app.route('/v1/workflows', workflowVersionRoutes(deps))
  app.route('/v1/workflows', workflowExecutionRoutes(deps))
  app.route('/v1/executions', executionRoutes(deps))
  app.route('/v1/automation/events', automationEventRoutes(deps))
  app.get('/v1/automation/contacts/', missingContactEmail)
  app.patch('/v1/automation/contacts/', missingContactEmail)
  app.route('/v1/automation/contacts', automationContactRoutes(deps))
}
