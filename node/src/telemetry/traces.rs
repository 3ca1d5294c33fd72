//! Traces: spans of all tiers, sent by OTLP to whoever receives them.
//!
//! A span is one of `tracing`, at level info and named for its stage: lease, fetch, analyse, save, index. From tier to tier it
//! travels as a W3C `traceparent`, in a field that is empty while nothing is traced: [`traceparent`] names a span,
//! [`continue_from`] puts another below it. Off, both are the reading of one flag, and [`pass_on`] hands on what came.
//!
//! What has ended waits in a bounded queue for a thread that sends it. A receiver that is slow or away costs spans, never
//! time: what does not fit is dropped.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter as OtlpExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, SpanData, SpanExporter,
};
use seine_common::config::TelemetryConfig;
use tracing::{Level, Metadata, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Layer;

use super::BoxedLayer;

/// Spans that wait to be sent; further ones are dropped.
const WAITING_SPANS: usize = 8192;
const SPANS_AT_ONCE: usize = 512;
/// How long a span may wait.
const SEND_EVERY: Duration = Duration::from_secs(1);
/// How long a receiver may take.
const SEND_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How long the end of the process waits for the last spans.
const END_DEADLINE: Duration = Duration::from_secs(2);

static IS_ON: AtomicBool = AtomicBool::new(false);
static PROVIDER: Mutex<Option<SdkTracerProvider>> = Mutex::new(None);

/// What turns spans into those of OpenTelemetry; `None` where nobody wants them, an error in words where they cannot be
/// sent.
pub(super) fn start(config: &TelemetryConfig) -> Option<Result<BoxedLayer, String>> {
    let receiver = config.otlp.as_deref()?;
    Some(start_sending(receiver, config.sample))
}

fn start_sending(receiver: &str, sample: f64) -> Result<BoxedLayer, String> {
    let exporter = OtlpExporter::builder().with_tonic().with_endpoint(receiver).with_timeout(SEND_TIMEOUT).build();
    let exporter = exporter.map_err(|error| format!("{receiver}: {error}"))?;
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(WAITING_SPANS)
        .with_max_export_batch_size(SPANS_AT_ONCE)
        .with_scheduled_delay(SEND_EVERY)
        .build();
    let sender = TellingExporter { exporter, is_failing: AtomicBool::new(false) };
    let processor = BatchSpanProcessor::builder(sender).with_batch_config(batches).build();
    let about = [
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("process.pid", i64::from(std::process::id())),
    ];
    let provider = SdkTracerProvider::builder()
        .with_span_processor(processor)
        // Whether a trace is kept is decided once, where it begins.
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(sample))))
        .with_resource(Resource::builder().with_service_name("seine").with_attributes(about).build())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("seine"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false)
        .with_filter(filter_fn(is_traced).with_max_level_hint(Level::INFO))
        .boxed();
    *PROVIDER.lock().expect("nothing panics while holding this lock") = Some(provider);
    IS_ON.store(true, Ordering::Relaxed);
    Ok(layer)
}

/// Our own stages, and not what libraries or debugging add.
fn is_traced(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && *metadata.level() <= Level::INFO && metadata.target().starts_with("seine_")
}

/// Sends what waits and ends, within two seconds. To be called when all spans have ended.
pub async fn end() {
    let provider = PROVIDER.lock().expect("nothing panics while holding this lock").take();
    let Some(provider) = provider else { return };
    IS_ON.store(false, Ordering::Relaxed);
    let ending = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(END_DEADLINE));
    if let Ok(Ok(Err(error))) = tokio::time::timeout(END_DEADLINE, ending).await {
        tracing::info!(%error, "the last spans were not sent");
    }
}

/// Whether anything is traced: for what would cost something to find out.
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Names a span to another tier; empty while nothing is traced.
pub fn traceparent(span: &Span) -> String {
    if !is_on() {
        return String::new();
    }
    let context = span.context();
    let span = context.span();
    let span = span.span_context();
    if !span.is_valid() {
        return String::new();
    }
    format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8())
}

/// What the next tier goes on from: the span, or where it is not traced here what this one was given.
pub fn pass_on(span: &Span, received: &str) -> String {
    let own = traceparent(span);
    if own.is_empty() { received.to_owned() } else { own }
}

/// Puts a span that was not entered yet below the one that is named. A name that is empty or cannot be read changes
/// nothing: the span begins a trace of its own.
pub fn continue_from(span: &Span, traceparent: &str) {
    if !is_on() || traceparent.is_empty() {
        return;
    }
    if let Some(parent) = read(traceparent) {
        // Refused only for spans that were entered, or that nobody records.
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
}

/// `VERSION-TRACE-SPAN-FLAGS`, in hexadecimal digits; later versions may have more behind.
fn read(traceparent: &str) -> Option<SpanContext> {
    let mut parts = traceparent.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if (version.len(), trace.len(), span.len(), flags.len()) != (2, 32, 16, 2) || version == "ff" {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    context.is_valid().then_some(context)
}

/// Says when spans cannot be sent any more, and when they can again.
#[derive(Debug)]
struct TellingExporter {
    exporter: OtlpExporter,
    is_failing: AtomicBool,
}

impl SpanExporter for TellingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.exporter.export(batch).await;
        let was_failing = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Err(error) if !was_failing => tracing::warn!(%error, "traces cannot be sent; those of this time are lost"),
            Ok(()) if was_failing => tracing::info!("traces are sent again"),
            _ => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn only_a_whole_name_is_read() {
        let name = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = read(name).unwrap();
        assert!(context.is_sampled() && context.is_remote());
        assert!(!read(&name.replace("-01", "-00")).unwrap().is_sampled());
        for wrong in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-xaf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }

    /// One test, because what it turns on is on for the process.
    #[tokio::test]
    async fn a_trace_is_continued_by_its_name_and_a_receiver_that_is_away_holds_nobody_up() {
        let span = tracing::info_span!(target: "seine_test", "lease");
        assert_eq!(traceparent(&span), "", "off, spans have no names");
        assert_eq!(pass_on(&span, "as it came"), "as it came");
        // Nobody listens there.
        let config = TelemetryConfig { otlp: Some("http://127.0.0.1:9".to_owned()), sample: 1.0 };
        let layer = start(&config).unwrap().unwrap();
        let subscriber = tracing_subscriber::registry().with(vec![layer]);
        let guard = tracing::subscriber::set_default(subscriber);
        let lease = tracing::info_span!(target: "seine_monitor", parent: None, "lease");
        let name = traceparent(&lease);
        let fetch = tracing::info_span!(target: "seine_collector", parent: None, "fetch");
        continue_from(&fetch, &name);
        let below = traceparent(&fetch);
        assert_eq!((name[..36].to_owned(), name.len()), (below[..36].to_owned(), 55), "{name} {below}");
        assert_ne!(name, below);
        assert_eq!(pass_on(&fetch, &name), below);
        let own = tracing::info_span!(target: "seine_collector", parent: None, "fetch");
        continue_from(&own, "nonsense");
        assert_ne!(traceparent(&own)[..36], name[..36]);
        let other = tracing::info_span!(target: "hyper", parent: None, "connection");
        assert_eq!(traceparent(&other), "", "spans of libraries are not traced");
        let begun = std::time::Instant::now();
        for _ in 0..3 * WAITING_SPANS {
            let span = tracing::info_span!(target: "seine_collector", parent: None, "fetch");
            continue_from(&span, &name);
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        drop((lease, fetch, own, other, guard));
        let begun = std::time::Instant::now();
        end().await;
        assert!(begun.elapsed() < END_DEADLINE + Duration::from_secs(1), "{:?}", begun.elapsed());
        assert_eq!(traceparent(&tracing::info_span!(target: "seine_test", "lease")), "");
    }
}
