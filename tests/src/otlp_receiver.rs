//! A small receiver of traces, as an OpenTelemetry collector is one: keeps the spans that processes send to it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use tokio_util::task::AbortOnDropHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// A span as far as tests compare it.
#[derive(Clone, Debug)]
pub struct ReceivedSpan {
    pub trace: Vec<u8>,
    pub id: Vec<u8>,
    /// Empty where a trace begins.
    pub parent: Vec<u8>,
    pub name: String,
    /// Of the process that sent it.
    pub process: String,
    pub fields: HashMap<String, String>,
    pub nanoseconds: u64,
}

#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<ReceivedSpan>>>);

/// Receives until it is dropped.
pub struct OtlpReceiver {
    address: SocketAddr,
    received: Received,
    _serving: AbortOnDropHandle<()>,
}

impl OtlpReceiver {
    /// Within a tokio runtime.
    pub fn start() -> Self {
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().expect("an address")).expect("a port is free");
        let address = incoming.local_addr().expect("it is bound");
        let received = Received::default();
        let service = TraceServiceServer::new(received.clone());
        let serving = tokio::spawn(async move {
            Server::builder().add_service(service).serve_with_incoming(incoming).await.expect("it serves");
        });
        Self { address, received, _serving: AbortOnDropHandle::new(serving) }
    }

    /// As `[telemetry] otlp` names it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.received.0.lock().expect("nothing panics while holding this lock").clone()
    }
}

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut received = self.0.lock().expect("nothing panics while holding this lock");
        for of_process in request.into_inner().resource_spans {
            let about = of_process.resource.map(|resource| fields(resource.attributes)).unwrap_or_default();
            let process = about.get("process.pid").cloned().unwrap_or_default();
            received.extend(of_process.scope_spans.into_iter().flat_map(|scope| scope.spans).map(|span| {
                ReceivedSpan {
                    trace: span.trace_id,
                    id: span.span_id,
                    parent: span.parent_span_id,
                    name: span.name,
                    process: process.clone(),
                    fields: fields(span.attributes),
                    nanoseconds: span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano),
                }
            }));
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn fields(attributes: Vec<KeyValue>) -> HashMap<String, String> {
    let text = |value: any_value::Value| match value {
        any_value::Value::StringValue(text) => text,
        any_value::Value::IntValue(number) => number.to_string(),
        any_value::Value::BoolValue(value) => value.to_string(),
        other => format!("{other:?}"),
    };
    let field = |attribute: KeyValue| Some((attribute.key, text(attribute.value?.value?)));
    attributes.into_iter().filter_map(field).collect()
}
