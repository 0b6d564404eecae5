//! CustomResourceDefinitions: registration, changes, the end.

use serde_json::json;

use crate::client::{Client, DEFINITIONS, JSON_PATCH, MERGE, WIDGETS, widget, widget_definition};

const WIDGET_DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";

#[tokio::test(start_paused = true)]
async fn a_definition_is_established_before_the_answer() {
    let client = Client::new().await;
    let before = client.get(WIDGETS).await;
    assert_eq!((before.code, before.text.as_str()), (404, "404 page not found\n"));
    let made = client.post(DEFINITIONS, &widget_definition()).await.expect(201);
    let conditions = made["status"]["conditions"].as_array().unwrap();
    for kind in ["NamesAccepted", "Established"] {
        let condition = conditions
            .iter()
            .find(|condition| condition["type"] == kind)
            .unwrap();
        assert_eq!(condition["status"], "True");
    }
    assert_eq!(made["status"]["acceptedNames"]["listKind"], "WidgetList");
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(made["spec"]["names"]["singular"], "widget");
    client.get(WIDGETS).await.expect(200);
    client.get("/apis/example.com/v1").await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_definition_is_the_end_of_its_objects() {
    let client = Client::new().await;
    client.install_widgets().await;
    let mut held = widget("held", &json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(WIDGETS, &held).await.expect(201);
    client
        .post(WIDGETS, &widget("free", &json!({})))
        .await
        .expect(201);
    client.delete(WIDGET_DEFINITION).await.expect(200);
    client.settle().await;
    client
        .get(&format!("{WIDGETS}/free"))
        .await
        .refused(404, "NotFound");
    let kept = client.get(&format!("{WIDGETS}/held")).await.expect(200);
    assert!(kept["metadata"]["deletionTimestamp"].is_string());
    client
        .post(WIDGETS, &widget("new", &json!({})))
        .await
        .refused(403, "Forbidden");
    client
        .patch(
            &format!("{WIDGETS}/held"),
            MERGE,
            &json!({"metadata": {"finalizers": null}}),
        )
        .await
        .expect(200);
    client.settle().await;
    client.get(WIDGET_DEFINITION).await.refused(404, "NotFound");
    assert_eq!(client.get(WIDGETS).await.code, 404);
    // It can be made again, and is empty.
    client.install_widgets().await;
    assert_eq!(client.get(WIDGETS).await.expect(200)["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn bad_definitions_are_refused() {
    let client = Client::new().await;
    let cases = [
        (
            json!([{"op": "replace", "path": "/metadata/name", "value": "other.example.com"}]),
            "metadata.name",
        ),
        (
            json!([{"op": "remove", "path": "/spec/versions/0/schema"}]),
            "schema",
        ),
        (
            json!([{"op": "replace", "path": "/spec/versions/0/storage", "value": false}]),
            "storage version",
        ),
        (
            json!([{"op": "replace", "path": "/spec/scope", "value": "Odd"}]),
            "spec.scope",
        ),
        (
            json!([{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/type"}]),
            "openAPIV3Schema.properties[spec].type: Required value",
        ),
        (
            json!([{
                "op": "add",
                "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations/0/rule",
                "value": "self.size ==",
            }]),
            "x-kubernetes-validations[0].rule",
        ),
    ];
    for (change, part) in cases {
        let body = apiary_semantics::patch::json_patch(&widget_definition(), &change).unwrap();
        let message = client.post(DEFINITIONS, &body).await.refused(422, "Invalid");
        assert!(message.contains(part), "{change}: {message}");
    }
    client.install_widgets().await;
    let scope = json!({"spec": {"scope": "Cluster"}});
    let message = client
        .patch(WIDGET_DEFINITION, MERGE, &scope)
        .await
        .refused(422, "Invalid");
    assert!(
        message.contains("spec.scope") && message.contains("immutable"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn openapi_changes_its_hash_with_the_definition() {
    let client = Client::new().await;
    client.install_widgets().await;
    let url = |index: serde_json::Value| {
        index["paths"]["apis/example.com/v1"]["serverRelativeURL"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = url(client.get("/openapi/v3").await.expect(200));
    let document = client.get(&first).await.expect(200);
    let widget = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(widget["properties"]["spec"]["properties"]["size"]["maximum"], 10);
    assert_eq!(widget["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
    let operation = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    let parameters: Vec<&str> = operation["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert!(
        parameters.contains(&"fieldValidation"),
        "kubectl decides by this: {parameters:?}"
    );
    let change = json!([{
        "op": "replace",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum",
        "value": 11,
    }]);
    client
        .patch(WIDGET_DEFINITION, JSON_PATCH, &change)
        .await
        .expect(200);
    let second = url(client.get("/openapi/v3").await.expect(200));
    assert_ne!(first, second);
    let document = client.get(&second).await.expect(200);
    let widget = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(widget["properties"]["spec"]["properties"]["size"]["maximum"], 11);
}

#[tokio::test(start_paused = true)]
async fn a_second_definition_cannot_take_a_name() {
    let client = Client::new().await;
    client.install_widgets().await;
    let mut other = widget_definition();
    other["metadata"]["name"] = json!("gadgets.example.com");
    other["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget", "shortNames": ["wd"]});
    let made = client.post(DEFINITIONS, &other).await.expect(201);
    let accepted = made["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|condition| condition["type"] == "NamesAccepted")
        .unwrap()
        .clone();
    assert_eq!(accepted["status"], "False");
    assert_eq!(client.get("/apis/example.com/v1/gadgets").await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn each_version_shows_its_own_fields_and_defaults() {
    let client = Client::new().await;
    let mut definition = widget_definition();
    let mut older = definition["spec"]["versions"][0].clone();
    older["name"] = json!("v1beta1");
    older["storage"] = json!(false);
    let properties = &mut older["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    properties["color"] = json!({"type": "string"});
    properties["tint"] = json!({"type": "integer", "default": 3});
    definition["spec"]["versions"].as_array_mut().unwrap().push(older);
    client.post(DEFINITIONS, &definition).await.expect(201);
    let old_path = "/apis/example.com/v1beta1/namespaces/default/widgets";
    let mut body = widget("a", &json!({"size": 1}));
    body["apiVersion"] = json!("example.com/v1beta1");
    let made = client.post(old_path, &body).await.expect(201);
    assert_eq!(made["apiVersion"], "example.com/v1beta1");
    let shown = client.get(&format!("{WIDGETS}/a")).await.expect(200);
    assert_eq!(shown["apiVersion"], "example.com/v1");
    assert_eq!(shown["spec"], json!({"size": 1, "color": "red"}));
    let list = client.get(old_path).await.expect(200);
    assert_eq!(list["items"][0]["apiVersion"], "example.com/v1beta1");
    assert_eq!(
        list["items"][0]["spec"],
        json!({"size": 1, "color": "red", "tint": 3})
    );
    let groups = client.get("/apis/example.com").await.expect(200);
    assert_eq!(groups["preferredVersion"]["version"], "v1");
}
