// Every resource and where it is mounted.
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiDeps, ApiEnv } from '../deps.ts'
import { apiKeyRoutes } from './apiKeys.ts'
import { audienceContactRoutes } from './audienceContacts.ts'
import { audienceRoutes } from './audiences.ts'
import { automationContactRoutes, missingContactEmail } from './automationContacts.ts'
import { automationEventRoutes } from './automationEvents.ts'
import { avatarRoutes } from './avatars.ts'
import { docsRoutes } from './docs.ts'
import { domainRoutes } from './domains.ts'
import { emailAttemptRoutes } from './emailAttempts.ts'
import { emailRoutes } from './emails.ts'
import { executionRoutes } from './executions.ts'
import { healthRoutes } from './health.ts'
import { suppressionRoutes } from './suppressions.ts'
import { templateRoutes } from './templates.ts'
import { trackingRoutes } from './tracking.ts'
import { unsubscribeRoutes } from './unsubscribe.ts'
import { workflowExecutionRoutes } from './workflowExecutions.ts'
import { workflowRoutes } from './workflows.ts'
import { workflowVersionRoutes } from './workflowVersions.ts'

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
